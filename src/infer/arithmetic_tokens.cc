#include "infer/arithmetic_tokens.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "base/strings.h"

namespace chela::infer {
namespace {

using Kind = ArithmeticToken::Kind;

struct NumberWord {
  std::string_view word;
  std::int64_t value;
};

constexpr auto kNumberWords = std::to_array<NumberWord>(
    {{"zero", 0},     {"one", 1},      {"two", 2},        {"three", 3},     {"four", 4},
     {"five", 5},     {"six", 6},      {"seven", 7},      {"eight", 8},     {"nine", 9},
     {"ten", 10},     {"eleven", 11},  {"twelve", 12},    {"thirteen", 13}, {"fourteen", 14},
     {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17}, {"eighteen", 18}, {"nineteen", 19},
     {"twenty", 20},  {"thirty", 30},  {"forty", 40},     {"fifty", 50},    {"sixty", 60},
     {"seventy", 70}, {"eighty", 80},  {"ninety", 90}});
constexpr auto kScaleWords =
    std::to_array<NumberWord>({{"hundred", 100}, {"thousand", 1000}, {"million", 1'000'000}});

constexpr auto kFunctions = std::to_array<std::string_view>(
    {"sqrt", "abs", "sin", "cos", "tan", "log", "ln", "exp", "floor", "ceil", "round", "min", "max"});

// Phrases as one token each; longer ones come first.
struct Phrase {
  std::string_view words;
  Kind kind;
  std::string_view text;
};
constexpr auto kPhrases = std::to_array<Phrase>({
    {"raised to the power of", Kind::kOperator, "^"},
    {"to the power of", Kind::kOperator, "^"},
    {"raised to", Kind::kOperator, "^"},
    {"multiplied by", Kind::kOperator, "*"},
    {"multiplied with", Kind::kOperator, "*"},
    {"multiply it by", Kind::kOperator, "*"},
    {"multiply that by", Kind::kOperator, "*"},
    {"divided by", Kind::kOperator, "/"},
    {"divide it by", Kind::kOperator, "/"},
    {"divide that by", Kind::kOperator, "/"},
    {"square root of", Kind::kFunction, "sqrt"},
    {"percent of", Kind::kPostfix, "/100*"},
    {"per cent of", Kind::kPostfix, "/100*"},
    {"half of", Kind::kPrefix, "1/2*"},
    {"a quarter of", Kind::kPrefix, "1/4*"},
    {"a third of", Kind::kPrefix, "1/3*"},
    {"twice", Kind::kPrefix, "2*"},
    {"plus", Kind::kOperator, "+"},
    {"minus", Kind::kOperator, "-"},
    {"times", Kind::kOperator, "*"},
    {"over", Kind::kOperator, "/"},
    {"modulo", Kind::kOperator, "%"},
    {"mod", Kind::kOperator, "%"},
    {"percent", Kind::kPostfix, "/100"},
    {"squared", Kind::kPostfix, "^2"},
    {"cubed", Kind::kPostfix, "^3"},
    {"pi", Kind::kNumber, "pi"},
});

// Signs of more than one byte.
struct Sign {
  std::string_view bytes;
  char ascii;
};
constexpr auto kSigns =
    std::to_array<Sign>({{"\u00d7", '*'}, {"\u00b7", '*'}, {"\u00f7", '/'}, {"\u2212", '-'}});

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80; }

// How many bytes a date (2026-01-31), a time (9:30) or a number glued to letters (3rd, 5kg) takes; 0 when it is a plain number.
std::size_t glued_number(std::string_view text) {
  std::size_t end = 0;
  std::size_t dashes = 0;
  bool other = false;
  while (end < text.size() &&
         (is_digit(text[end]) || text[end] == '-' || text[end] == ':' || is_letter(text[end]))) {
    if (text[end] == '-') ++dashes;
    if (text[end] == ':' || is_letter(text[end])) other = true;
    ++end;
  }
  if (dashes == 2 && end >= 8 && text[4] == '-') return end;
  // "3x4" is a product.
  if (other && text.substr(0, end).find('x') != std::string_view::npos) return 0;
  return other ? end : 0;
}

// A number with its grouping commas: "1,500.25".
std::string take_number(std::string_view text, std::size_t& at) {
  std::string out;
  const auto groups_of_three = [&](std::size_t comma) {
    std::size_t digits = 0;
    while (comma + 1 + digits < text.size() && is_digit(text[comma + 1 + digits])) ++digits;
    return digits == 3;
  };
  bool dot = false;
  while (at < text.size()) {
    const char c = text[at];
    if (is_digit(c)) {
      out += c;
    } else if (c == ',' && !dot && groups_of_three(at)) {
      // a separator only
    } else if (c == '.' && !dot && at + 1 < text.size() && is_digit(text[at + 1])) {
      dot = true;
      out += c;
    } else {
      break;
    }
    ++at;
  }
  return out;
}

std::optional<std::int64_t> value_in(std::span<const NumberWord> list, std::string_view word) {
  for (const auto& entry : list) {
    if (entry.word == word) return entry.value;
  }
  return std::nullopt;
}

// Joins "three hundred and twenty five" into one number. Returns how many words were used.
std::size_t spoken_number(std::span<const ArithmeticToken> tokens, std::int64_t& value) {
  std::int64_t total = 0;
  std::int64_t group = 0;
  std::int64_t last = 1000;  // each further word must be smaller: "twenty five", but not "five six"
  std::size_t used = 0;
  for (std::size_t i = 0; i < tokens.size() && tokens[i].kind == Kind::kWord; ++i) {
    const auto& word = tokens[i].text;
    if (const auto small = value_in(kNumberWords, word)) {
      if (used > 0 && (*small >= last || (last < 100 && (last < 20 || *small > 9)))) break;
      group += *small;
      last = *small;
    } else if (const auto scale = value_in(kScaleWords, word); scale && group > 0 && group < *scale) {
      group *= *scale;
      if (*scale >= 1000) {
        total += group;
        group = 0;
      }
      last = *scale;
    } else if (word == "and" && used > 0 && last >= 100 && i + 1 < tokens.size() &&
               value_in(kNumberWords, tokens[i + 1].text)) {
      continue;  // "three hundred and five"
    } else {
      break;
    }
    used = i + 1;
  }
  value = total + group;
  return used;
}

std::vector<ArithmeticToken> raw_tokens(std::string_view text) {
  std::vector<ArithmeticToken> out;
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    bool taken = false;
    for (const auto& sign : kSigns) {
      if (text.substr(i).starts_with(sign.bytes)) {
        out.push_back({Kind::kOperator, std::string(1, sign.ascii)});
        i += sign.bytes.size();
        taken = true;
        break;
      }
    }
    if (taken) continue;
    if (is_digit(c)) {
      if (const auto glued = glued_number(text.substr(i)); glued > 0) {
        out.push_back({Kind::kWord, std::string(text.substr(i, glued))});
        i += glued;
      } else {
        out.push_back({Kind::kNumber, take_number(text, i)});
      }
    } else if (is_letter(c)) {
      const auto begin = i;
      while (i < text.size() &&
             (is_letter(text[i]) || (text[i] == '\'' && i + 1 < text.size() && is_letter(text[i + 1]))))
        ++i;
      // "blue42" is one word, "x4" is a product.
      if (i - begin > 1 || c != 'x') {
        while (i < text.size() && (is_digit(text[i]) || is_letter(text[i]) || text[i] == '_')) ++i;
      }
      out.push_back({Kind::kWord, std::string(text.substr(begin, i - begin))});
    } else {
      ++i;
      if (c == '(') out.push_back({Kind::kOpen, "("});
      if (c == ')') out.push_back({Kind::kClose, ")"});
      if (c == ',') out.push_back({Kind::kComma, ","});
      if (std::string_view("+-*/^%").find(c) != std::string_view::npos)
        out.push_back({Kind::kOperator, std::string(1, c)});
      if (c == '*' && i < text.size() && text[i] == '*') {
        out.back().text = "^";  // 2**10
        ++i;
      }
    }
  }
  return out;
}

// How many tokens the phrase takes at `tokens`, 0 when it is not there.
std::size_t phrase_length(std::span<const ArithmeticToken> tokens, std::string_view phrase) {
  std::size_t used = 0;
  for (const auto word : strings::split(phrase, ' ')) {
    if (used >= tokens.size() || tokens[used].kind != Kind::kWord || tokens[used].text != word) return 0;
    ++used;
  }
  return used;
}

bool starts_operand(const ArithmeticToken& token) {
  return token.kind == Kind::kNumber || token.kind == Kind::kOpen || token.kind == Kind::kFunction;
}

// "%" before an operand is modulo, else percent; "x" between operands is a product.
void settle_signs(std::vector<ArithmeticToken>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto& token = tokens[i];
    const bool before_operand = i + 1 < tokens.size() && starts_operand(tokens[i + 1]);
    if (token.kind == Kind::kOperator && token.text == "%" && !before_operand) {
      const bool of = i + 1 < tokens.size() && tokens[i + 1].text == "of";
      token = {Kind::kPostfix, of ? "/100*" : "/100"};
      if (of) tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else if (token.kind == Kind::kWord && token.text == "x" && i > 0 && before_operand &&
               (tokens[i - 1].kind == Kind::kNumber || tokens[i - 1].kind == Kind::kClose)) {
      token = {Kind::kOperator, "*"};
    } else if (token.kind == Kind::kWord && i + 1 < tokens.size() && tokens[i + 1].kind == Kind::kOpen &&
               std::find(kFunctions.begin(), kFunctions.end(), token.text) != kFunctions.end()) {
      token.kind = Kind::kFunction;
    }
  }
}

}  // namespace

std::vector<ArithmeticToken> arithmetic_tokens(std::string_view text) {
  const auto raw = raw_tokens(strings::lower(text));
  std::vector<ArithmeticToken> out;
  for (std::size_t i = 0; i < raw.size();) {
    const auto rest = std::span(raw).subspan(i);
    std::int64_t spoken = 0;
    if (const auto used = spoken_number(rest, spoken); used > 0) {
      out.push_back({Kind::kNumber, std::to_string(spoken)});
      i += used;
      continue;
    }
    std::size_t used = 0;
    for (const auto& phrase : kPhrases) {
      used = phrase_length(rest, phrase.words);
      if (used > 0) {
        out.push_back({phrase.kind, std::string(phrase.text)});
        break;
      }
    }
    if (used == 0) {
      out.push_back(raw[i]);
      used = 1;
    }
    i += used;
  }
  settle_signs(out);
  return out;
}

}  // namespace chela::infer
