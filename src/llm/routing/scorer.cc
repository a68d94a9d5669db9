#include "llm/routing/scorer.h"

#include <algorithm>

#include "llm/routing/dimensions.h"
#include "llm/routing/limits.h"
#include "llm/routing/phrases.h"

namespace chela::llm::routing {
namespace {

const Phrases& phrases() {
  static const Phrases made = [] {
    std::array<std::string_view, kDimensions> lists;
    // The dimension without words gives nothing for this one either.
    for (std::size_t i = 0; i < kDimensions; ++i)
      lists[i] = dimensions()[i].phrases.empty() ? "__no_word__" : dimensions()[i].phrases;
    return Phrases(lists);
  }();
  return made;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// What the text has beside words.
struct Marks {
  int code = 0;
  int questions = 0;
  int decimals = 0;
  int commas = 0;
  int semicolons = 0;
};

bool is_extension(std::string_view rest) {
  for (const std::string_view each : {".ts", ".js", ".py", ".rs", ".go", ".sol", ".cc", ".cpp"}) {
    if (rest.starts_with(each) && (rest.size() == each.size() || !is_letter(rest[each.size()]))) return true;
  }
  return false;
}

bool is_tag(std::string_view rest) {
  const std::string_view near = rest.substr(0, kMaxTagBytes);
  return near.size() > 2 && (is_letter(near[1]) || near[1] == '/') &&
         near.find('>') != std::string_view::npos;
}

int code_mark(std::string_view rest, char before) {
  switch (rest.front()) {
    case '`':
      return before != '`' ? 1 : 0;
    case '=':
      return rest.starts_with("=>") ? 1 : 0;
    case '(':
      return rest.starts_with("()") ? 1 : 0;
    case '[':
      return rest.starts_with("[]") ? 1 : 0;
    case '{':
      return 1;
    case '.':
      return (is_letter(before) || is_digit(before) || before == '_') && is_extension(rest) ? 1 : 0;
    case '<':
      return is_tag(rest) ? 1 : 0;
    default:
      return 0;
  }
}

Marks marks_of(std::string_view text) {
  Marks out;
  char before = ' ';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    out.code += code_mark(text.substr(i), before);
    out.questions += c == '?' ? 1 : 0;
    out.commas += c == ',' ? 1 : 0;
    out.semicolons += c == ';' ? 1 : 0;
    const bool decimal = c == '.' && is_digit(before) && i + 1 < text.size() && is_digit(text[i + 1]);
    out.decimals += decimal ? 1 : 0;
    before = c;
  }
  return out;
}

int years(const Words& words) {
  int count = 0;
  for (std::size_t i = 0; i < words.size(); ++i)
    count += words[i].size() == 4 && std::ranges::all_of(words[i], is_digit) ? 1 : 0;
  return count;
}

int measured(Dimension::Measure measure, const Words& words, const Marks& marks) {
  using enum Dimension::Measure;
  switch (measure) {
    case kNone:
      return 0;
    case kLength: {
      const std::size_t over = words.bytes() > kFreeBytes ? words.bytes() - kFreeBytes : 0;
      return static_cast<int>(std::min<std::size_t>(over / kBytesAPoint, kDimensionCap));
    }
    case kCode:
      return kPointsACodeMark * marks.code;
    case kQuestionMarks:
      return kPointsAQuestionMark * marks.questions;
    case kNumbers:
      return kPointsANumber * (marks.decimals + years(words));
    case kClauses:
      return kPointsAClause * (marks.commas + 2 * marks.semicolons);
  }
  return 0;
}

}  // namespace

Score score(const Words& words) {
  const std::vector<int> found = phrases().count(words);
  const Marks marks = marks_of(words.text());
  Score out;
  int sum = 0;
  int standing_out = 0;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const Dimension& of = dimensions()[i];
    const int points = std::min(kDimensionCap, of.each * found[i] + measured(of.measure, words, marks));
    out.dimensions[i] = {.name = of.name, .weight = of.weight, .score = points};
    sum += of.weight * points;
    standing_out += points > kStandsOut ? 1 : 0;
  }
  if (standing_out >= 2) out.boost = standing_out >= 3 ? kBoostOfThree : kBoostOfTwo;
  out.total = std::min(100, sum * out.boost / 10'000);
  return out;
}

Tier tier_of(int score) {
  if (score >= kFrontierFrom) return Tier::kFrontier;
  if (score >= kProFrom) return Tier::kPro;
  return score >= kStandardFrom ? Tier::kStandard : Tier::kFlash;
}

}  // namespace chela::llm::routing
