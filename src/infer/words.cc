#include "infer/words.h"

#include <array>

#include "base/strings.h"

namespace chela::infer {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kOpening = "'\"`([{<";
constexpr std::string_view kClosing = "'\"`)]}>,.;:!?";

constexpr auto kStopWords = std::to_array<std::string_view>(
    {"a",      "about",  "again",  "all",    "am",        "an",       "and",     "any",       "anything",
     "are",    "at",     "be",     "been",   "but",       "by",       "can",     "could",     "did",
     "do",     "does",   "don't",  "find",   "for",       "forgot",   "from",    "get",       "give",
     "had",    "has",    "have",   "he",     "hello",     "her",      "hey",     "hi",        "him",
     "his",    "how",    "i",      "i'm",    "idea",      "if",       "in",      "is",        "it",
     "its",    "know",   "look",   "may",    "me",        "memory",   "mention", "mentioned", "mine",
     "much",   "my",     "name's", "need",   "notes",     "now",      "of",      "off",       "ok",
     "on",     "or",     "our",    "please", "recall",    "remember", "said",    "say",       "search",
     "she",    "should", "so",     "some",   "something", "stuff",    "tell",    "that",      "that's",
     "the",    "their",  "them",   "then",   "there",     "they",     "thing",   "things",    "think",
     "this",   "to",     "told",   "up",     "us",        "was",      "we",      "were",      "what",
     "what's", "when",   "when's", "where",  "where's",   "which",    "who",     "who's",     "why",
     "will",   "with",   "would",  "you",    "your",      "yours"});

constexpr auto kBareFiles = std::to_array<std::string_view>(
    {"Makefile", "Dockerfile", "LICENSE", "README", "CHANGELOG", "Jenkinsfile"});
constexpr auto kNoPaths =
    std::to_array<std::string_view>({"and/or", "he/she", "she/he", "his/her", "him/her", "yes/no", "e.g",
                                     "i.e", "a.m", "p.m", "etc", "n/a", "w/o", "24/7", "either/or"});

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word_byte(char c) {
  return is_alpha(c) || is_digit(c) || c == '_' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string_view stripped(std::string_view word) {
  while (!word.empty() && kOpening.find(word.front()) != std::string_view::npos) word.remove_prefix(1);
  while (!word.empty() && kClosing.find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return word;
}

// "notes.txt": a name, a dot, an extension that starts with a letter.
bool has_extension(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 >= name.size() || name.size() - dot > 7 ||
      !is_alpha(name[dot + 1]))
    return false;
  if (!std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 1, name.end(),
                   [](char c) { return is_alpha(c) || is_digit(c); }))
    return false;
  if (dot == 0) return name.size() > 2;  // ".env"
  return std::all_of(name.begin(), name.end(), [](char c) { return is_word_byte(c) || c == '.'; });
}

bool is_path(std::string_view word) {
  if (word.size() < 2 || word.find("://") != std::string_view::npos ||
      word.find('@') != std::string_view::npos)
    return false;
  if (contains(kBareFiles, word)) return true;
  const auto low = strings::lower(word);
  if (contains(kNoPaths, low) || low.starts_with("www.")) return false;
  if (!std::any_of(word.begin(), word.end(),
                   [](char c) { return is_alpha(c) || static_cast<unsigned char>(c) >= 0x80; }))
    return false;
  if (!std::all_of(word.begin(), word.end(), [](char c) {
        return is_word_byte(c) || std::string_view("./~+=").find(c) != std::string_view::npos;
      }))
    return false;
  const auto slash = word.rfind('/');
  if (slash == std::string_view::npos) return has_extension(word);
  if (word.front() == '/' || word.starts_with("~/") || word.starts_with("./") || word.starts_with("../"))
    return true;
  const auto last = word.substr(slash + 1);
  return last.empty() || has_extension(last) ||
         (slash > 0 && is_alpha(word.front()) && is_word_byte(last.front()));
}

// Walks over the white-space separated words; stops when `visit` returns false.
template <class Visit>
void each_word(std::string_view text, Visit visit) {
  std::size_t i = 0;
  while (i < text.size()) {
    i = text.find_first_not_of(kSpace, i);
    if (i == std::string_view::npos) return;
    auto end = text.find_first_of(kSpace, i);
    if (end == std::string_view::npos) end = text.size();
    if (!visit(text.substr(i, end - i), i)) return;
    i = end;
  }
}

std::string_view without_list_mark(std::string_view line) {
  if (line.starts_with("- ") || line.starts_with("* ")) line = strings::trim(line.substr(2));
  while (line.starts_with('#')) line.remove_prefix(1);
  line = strings::trim(line);
  if (line.size() > 10 && line[0] == '[' && line[3] == ':' && line[6] == ':' && line[9] == ']')
    line = strings::trim(line.substr(10));
  return line;
}

// True when the dot at `at` ends a sentence rather than a number, an abbreviation or a file name.
bool ends_sentence(std::string_view line, std::size_t at) {
  if (at + 1 >= line.size()) return true;
  if (line[at + 1] != ' ') return false;
  if (line[at] != '.') return true;
  const auto word_start = line.find_last_of(' ', at);
  const auto length = at - (word_start == std::string_view::npos ? 0 : word_start + 1);
  const char next = at + 2 < line.size() ? line[at + 2] : ' ';
  const bool word = length > 2 || (at > 0 && is_digit(line[at - 1]));  // "at 9. Then", but not "e.g. this"
  return word && !(next >= 'a' && next <= 'z');
}

// A word without the endings that change least of its meaning.
std::string_view stem(std::string_view word) {
  for (const std::string_view ending : {"'s", "ing", "es", "ed", "s"}) {
    if (word.size() > ending.size() + 2 && word.ends_with(ending))
      return word.substr(0, word.size() - ending.size());
  }
  return word;
}

}  // namespace

std::string plain_quotes(std::string_view text) {
  std::string out(text);
  for (const std::string_view quote : {"\u2018", "\u2019"})
    out = strings::replace_all(std::move(out), quote, "'");
  for (const std::string_view quote : {"\u201c", "\u201d", "\u201e"})
    out = strings::replace_all(std::move(out), quote, "\"");
  return out;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  each_word(text, [&](std::string_view word, std::size_t) {
    if (const auto bare = stripped(word); !bare.empty()) out.push_back(strings::lower(bare));
    return true;
  });
  return out;
}

std::vector<std::string> keywords_of(std::string_view text) {
  auto words = words_of(text);
  std::erase_if(words, [](const std::string& word) { return contains(kStopWords, word); });
  for (auto& word : words) {
    if (word.ends_with("'s")) word.resize(word.size() - 2);
  }
  std::vector<std::string> unique;
  for (auto& word : words) {
    if (!contains(unique, word)) unique.push_back(std::move(word));
  }
  return unique;
}

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> out;
  for (const auto raw : strings::split(text, '\n')) {
    const auto line = without_list_mark(strings::trim(raw));
    std::size_t begin = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if ((line[i] == '.' || line[i] == '!' || line[i] == '?') && ends_sentence(line, i)) {
        out.emplace_back(strings::trim(line.substr(begin, i + 1 - begin)));
        begin = i + 1;
      }
    }
    if (const auto rest = strings::trim(line.substr(begin)); !rest.empty()) out.emplace_back(rest);
  }
  return out;
}

std::string_view value_of(std::string_view text) {
  text = strings::trim(text);
  while (!text.empty() && std::string_view(",;:.!?").find(text.back()) != std::string_view::npos)
    text = strings::trim(text.substr(0, text.size() - 1));
  while (!text.empty() && std::string_view(",;:").find(text.front()) != std::string_view::npos)
    text = strings::trim(text.substr(1));
  if (text.size() >= 2 && text.front() == text.back() &&
      std::string_view("'\"`").find(text.front()) != std::string_view::npos) {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

std::optional<PathMention> find_path(std::string_view text) {
  std::optional<PathMention> found;
  each_word(text, [&](std::string_view word, std::size_t at) {
    auto bare = stripped(word);
    if (bare.ends_with("'s")) bare.remove_suffix(2);
    if (!is_path(bare)) return true;
    // A leading dot of ".env" is no punctuation, and a trailing one of a sentence is none of the path.
    found = PathMention{.path = std::string(bare), .begin = at, .end = at + word.size()};
    return false;
  });
  return found;
}

std::string masked(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  const auto copy_numbers_masked = [&](std::string_view part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!is_digit(part[i])) {
        out += part[i];
        continue;
      }
      out += '7';
      while (i + 1 < part.size() && (is_digit(part[i + 1]) || ((part[i + 1] == '.' || part[i + 1] == ',') &&
                                                               i + 2 < part.size() && is_digit(part[i + 2]))))
        ++i;
    }
  };
  each_word(text, [&](std::string_view word, std::size_t at) {
    const auto bare = stripped(word);
    if (is_path(bare)) {
      copy_numbers_masked(text.substr(done, static_cast<std::size_t>(bare.data() - text.data()) - done));
      out += "file.txt";
      done = static_cast<std::size_t>(bare.data() - text.data()) + bare.size();
    }
    return at < text.size();
  });
  copy_numbers_masked(text.substr(done));
  return out;
}

std::string words_of_name(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool upper = c >= 'A' && c <= 'Z';
    if (c == '_' || c == '-' || c == '.' || c == ':') {
      if (!out.empty() && out.back() != ' ') out += ' ';
      continue;
    }
    if (upper && i > 0 && !(name[i - 1] >= 'A' && name[i - 1] <= 'Z') && !out.empty() && out.back() != ' ')
      out += ' ';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

float overlap(const std::vector<std::string>& of, const std::vector<std::string>& in) {
  if (of.empty()) return 0;
  const auto occurs = [&](const std::string& word) {
    return std::any_of(in.begin(), in.end(),
                       [&](const std::string& other) { return stem(other) == stem(word); });
  };
  return static_cast<float>(std::count_if(of.begin(), of.end(), occurs)) / static_cast<float>(of.size());
}

}  // namespace chela::infer
