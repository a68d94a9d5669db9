#include "memory/recall.h"

#include <algorithm>

#include "base/strings.h"
#include "base/utf8.h"
#include "memory/documents.h"
#include "memory/path.h"
#include "memory/words.h"

namespace chela::memory {
namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
constexpr std::size_t kCharsBefore = 100;  // kept before the first keyword of a line that is cut

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes off "- ", "* ", "[10:00:00] ".
std::string_view bare(std::string_view line) {
  line = strings::trim(line);
  if (line.starts_with("- ") || line.starts_with("* ")) line = strings::trim(line.substr(2));
  constexpr std::string_view kStamp = "[00:00:00]";
  if (line.size() >= kStamp.size()) {
    const bool stamp = std::equal(kStamp.begin(), kStamp.end(), line.begin(), [](char pattern, char c) {
      return pattern == '0' ? is_digit(c) : c == pattern;
    });
    if (stamp) line = strings::trim(line.substr(kStamp.size()));
  }
  return line;
}

// The byte where character number `chars` begins.
std::size_t byte_of(std::string_view text, std::size_t chars) {
  std::size_t at = 0;
  for (; at < text.size() && chars > 0; --chars) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  }
  return at;
}

// At most kMaxRecallChars characters around the first keyword.
std::string cut(std::string_view line, const std::vector<std::string>& keywords) {
  if (utf8::length(line) <= kMaxRecallChars) return std::string(line);
  const std::string lower = strings::lower(line);
  std::size_t first = line.size();
  for (const std::string& keyword : keywords) first = std::min(first, lower.find(keyword.substr(0, 4)));
  const std::size_t chars_before = first >= line.size() ? 0 : utf8::length(line.substr(0, first));
  const std::size_t skip = chars_before > kCharsBefore ? chars_before - kCharsBefore : 0;
  std::string_view rest = line.substr(byte_of(line, skip));
  std::string out(skip > 0 ? kEllipsis : "");
  const std::size_t room = kMaxRecallChars - 2;  // an ellipsis at each end
  const std::string_view kept = rest.substr(0, byte_of(rest, room));
  out += kept;
  if (kept.size() < rest.size()) out += kEllipsis;
  return out;
}

// The day of a daily log, "" for another document.
std::string_view day_of(std::string_view path) {
  const std::string_view name = file_name(path);
  return path.starts_with("daily/") && name.ends_with(".md") ? name.substr(0, name.size() - 3)
                                                             : std::string_view();
}

struct Candidate {
  std::string text;
  std::size_t matches;
  std::size_t order;  // as they were found: better chunks first
};

}  // namespace

std::vector<Line> matching_lines(std::string_view text, const std::vector<std::string>& keywords) {
  std::vector<Line> lines;
  for (const std::string_view each : strings::split(text, '\n')) {
    const std::string_view line = bare(each);
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string> words = words_of(line);
    const auto in_line = [&words](const std::string& keyword) {
      return std::any_of(words.begin(), words.end(),
                         [&keyword](const std::string& word) { return same_word(word, keyword); });
    };
    const auto matches = static_cast<std::size_t>(std::count_if(keywords.begin(), keywords.end(), in_line));
    if (matches > 0) lines.push_back({cut(line, keywords), matches});
  }
  return lines;
}

Task<Result<std::vector<std::string>>> recall(Workspace& workspace, Scope scope, std::string message,
                                              std::size_t limit) {
  const std::vector<std::string> keywords = keywords_of(std::string_view(message).substr(0, kMaxQueryBytes));
  if (keywords.empty() || limit == 0) co_return std::vector<std::string>{};
  const Result<std::vector<SearchResult>> hits =
      co_await workspace.search_terms(std::move(scope), keywords, kRecallChunks);
  if (!hits) co_return fail(hits.error());

  std::vector<Candidate> candidates;
  std::size_t most = 0;
  for (const SearchResult& hit : *hits) {
    if (!is_memory(hit.path)) continue;
    for (Line& line : matching_lines(hit.content, keywords)) {
      const std::string_view day = day_of(hit.path);
      if (!day.empty() && !line.text.contains("(noted ")) line.text += fmt::format(" (noted {})", day);
      const bool known = std::any_of(candidates.begin(), candidates.end(),
                                     [&](const Candidate& c) { return c.text == line.text; });
      if (known) continue;
      most = std::max(most, line.matches);
      candidates.push_back({std::move(line.text), line.matches, candidates.size()});
    }
  }
  // A line with one word of a long question is noise beside one that has most of them.
  std::erase_if(candidates, [most](const Candidate& c) { return c.matches * 2 < most; });
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.matches != b.matches ? a.matches > b.matches : a.order < b.order;
  });
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < candidates.size() && i < limit; ++i)
    lines.push_back(std::move(candidates[i].text));
  co_return lines;
}

}  // namespace chela::memory
