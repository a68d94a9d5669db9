#include "tools/names.h"

#include <algorithm>
#include <tuple>

#include "base/strings.h"
#include "base/utf8.h"

namespace chela::tools {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

// The parts of a name in lower case, in a fixed order: "search_memory" and "memory-search" become the same.
std::string sorted_words(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : strings::lower(name)) {
    if (is_alphanumeric(c))
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  std::sort(words.begin(), words.end());
  return strings::join(words, "_");
}

}  // namespace

bool valid_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxToolName && std::all_of(name.begin(), name.end(), [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '.' || c == ':' || c == '-';
  });
}

std::string shown_name(std::string_view name) {
  std::string text = utf8::sanitize(name.substr(0, kMaxToolName));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // where the last star was, and how much text it has taken
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string key = sorted_words(wanted.substr(0, kMaxToolName));
  struct Near {
    std::size_t distance;
    std::string name;
  };
  std::vector<Near> near;
  for (const std::string& name : names) {
    const std::string other = sorted_words(name);
    const bool part = key.size() >= 3 && (other.contains(key) || key.contains(other));
    const std::size_t distance = edit_distance(key, other);
    if (part || distance * 3 <= std::max(key.size(), other.size()))
      near.push_back({part ? std::min<std::size_t>(distance, 2) : distance, name});
  }
  std::sort(near.begin(), near.end(), [](const Near& a, const Near& b) {
    return std::tie(a.distance, a.name) < std::tie(b.distance, b.name);
  });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < near.size() && i < kMaxNearestNames; ++i) out.push_back(near[i].name);
  return out;
}

}  // namespace chela::tools
