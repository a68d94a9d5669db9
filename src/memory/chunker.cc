#include "memory/chunker.h"

#include <algorithm>

namespace chela::memory {
namespace {

struct Word {
  std::size_t begin;
  std::size_t end;
};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<Word> words_of(const std::string& text) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < text.size();) {
    while (i < text.size() && is_space(text[i])) ++i;
    const std::size_t begin = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    if (i > begin) words.push_back({begin, i});
  }
  return words;
}

// A window that ends so near to the end would leave a rest too short to stand alone.
std::size_t window_end(std::size_t start, std::size_t words) {
  const std::size_t end = std::min(start + kChunkWords, words);
  return words - end < kMinLastWords ? words : end;
}

}  // namespace

std::vector<std::string> chunk(const std::string& content) {
  const std::vector<Word> words = words_of(content);
  if (words.empty()) return {};
  if (words.size() <= kChunkWords) return {content};
  std::vector<std::string> chunks;
  for (std::size_t start = 0;; start += kChunkWords - kChunkOverlap) {
    const std::size_t end = window_end(start, words.size());
    chunks.push_back(content.substr(words[start].begin, words[end - 1].end - words[start].begin));
    if (end == words.size()) return chunks;
  }
}

}  // namespace chela::memory
