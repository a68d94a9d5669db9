#include "memory/words.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace chela::memory {
namespace {

// Sorted. What people say around the thing they mean, the words of asking and remembering included; "time", "date" and the like say what
// kind of answer is wanted, not about what.
constexpr auto kStopWords = std::to_array<std::string_view>({
    "a",       "about",   "after",    "again",    "all",      "already", "also",      "always",    "am",
    "an",      "and",     "any",      "anything", "are",      "aren",    "as",        "ask",       "at",
    "be",      "because", "been",     "before",   "being",    "between", "but",       "by",        "bye",
    "can",     "could",   "couldn",   "date",     "day",      "did",     "didn",      "do",        "does",
    "doesn",   "doing",   "don",      "down",     "during",   "each",    "else",      "every",     "few",
    "find",    "first",   "for",      "forget",   "from",     "further", "get",       "give",      "go",
    "going",   "good",    "got",      "had",      "has",      "hasn",    "have",      "haven",     "having",
    "he",      "hello",   "help",     "her",      "here",     "hers",    "hey",       "hi",        "him",
    "his",     "hour",    "how",      "i",        "if",       "in",      "into",      "is",        "isn",
    "it",      "its",     "just",     "keep",     "know",     "last",    "let",       "like",      "ll",
    "long",    "look",    "made",     "make",     "many",     "may",     "me",        "mean",      "mind",
    "mine",    "minute",  "more",     "most",     "much",     "must",    "my",        "need",      "never",
    "next",    "no",      "not",      "note",     "now",      "of",      "off",       "ok",        "okay",
    "on",      "one",     "only",     "or",       "other",    "our",     "out",       "over",      "please",
    "put",     "re",      "remember", "remind",   "right",    "said",    "say",       "search",    "see",
    "shall",   "she",     "should",   "show",     "so",       "some",    "something", "still",     "such",
    "take",    "tell",    "than",     "thank",    "thanks",   "that",    "the",       "their",     "them",
    "then",    "there",   "these",    "they",     "thing",    "things",  "think",     "this",      "those",
    "through", "time",    "to",       "today",    "tomorrow", "tonight", "too",       "under",     "up",
    "us",      "use",     "ve",       "very",     "want",     "was",     "wasn",      "we",        "well",
    "were",    "what",    "when",     "where",    "which",    "while",   "who",       "whom",      "whose",
    "why",     "will",    "with",     "won",      "would",    "wouldn",  "yes",       "yesterday", "yet",
    "you",     "your",    "yours",
});
static_assert(std::is_sorted(kStopWords.begin(), kStopWords.end()));

bool is_stop_word(std::string_view word) {
  const bool lone_letter = word.size() == 1 && (word[0] < '0' || word[0] > '9');
  return lone_letter || std::binary_search(kStopWords.begin(), kStopWords.end(), word);
}

// How many bytes at `i` separate words; 0 inside one.
std::size_t separator(std::string_view text, std::size_t i) {
  const auto at = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const unsigned c = at(i);
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? 0 : 1;
  if (c == 0xc2 && at(i + 1) >= 0x80 && at(i + 1) <= 0xbf) return 2;  // U+0080..U+00BF: signs, no-break space
  if (c == 0xe2 && (at(i + 1) == 0x80 || at(i + 1) == 0x81) && i + 2 < text.size())
    return 3;  // U+2000..U+207F: dashes, quotes, dots
  if (c == 0xe3 && at(i + 1) == 0x80 && i + 2 < text.size()) return 3;  // U+3000..U+303F: CJK punctuation
  return 0;
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size();) {
    const std::size_t skip = i == text.size() ? 1 : separator(text, i);
    if (skip > 0 && i > begin) words.push_back(strings::lower(text.substr(begin, i - begin)));
    i += skip > 0 ? skip : 1;
    if (skip > 0) begin = i;
  }
  return words;
}

std::vector<std::string> terms_of(std::string_view query) {
  std::vector<std::string> terms;
  for (std::string& word : words_of(query)) {
    if (terms.size() == kMaxTerms) break;
    if (std::find(terms.begin(), terms.end(), word) == terms.end()) terms.push_back(std::move(word));
  }
  return terms;
}

std::vector<std::string> keywords_of(std::string_view message) {
  std::vector<std::string> keywords;
  for (std::string& word : words_of(message)) {
    if (keywords.size() == kMaxTerms) break;
    if (!is_stop_word(word) && std::find(keywords.begin(), keywords.end(), word) == keywords.end())
      keywords.push_back(std::move(word));
  }
  return keywords;
}

bool same_word(std::string_view a, std::string_view b) {
  constexpr std::size_t kShortestStem = 4;
  constexpr std::size_t kLongestEnding = 2;  // of the shorter one
  if (a == b) return true;
  const std::size_t common =
      static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const std::size_t shorter = std::min(a.size(), b.size());
  if (common == shorter && (a.ends_with('s') || b.ends_with('s')) &&
      std::max(a.size(), b.size()) == shorter + 1)
    return shorter > 1;
  return common >= kShortestStem && common + kLongestEnding >= shorter;
}

}  // namespace chela::memory
