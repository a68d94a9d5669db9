#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chela::llm::routing {

// The words of a text in small letters, in one pass over kMaxReadBytes of it at most. A word is letters, digits and '_', with an apostrophe
// inside; whatever is not ASCII belongs to words. Bytes that are no UTF-8 do no harm.
class Words {
 public:
  explicit Words(std::string_view text);
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  std::size_t size() const { return words_.size(); }
  std::string_view operator[](std::size_t i) const {
    return std::string_view(text_).substr(words_[i].begin, words_[i].size);
  }
  std::uint32_t line(std::size_t i) const { return words_[i].line; }

  // What was read, trimmed, in small letters, with plain apostrophes; and how many bytes the whole text has, trimmed.
  std::string_view text() const { return text_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Word {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t line = 0;
  };

  std::string text_;
  std::size_t bytes_ = 0;
  std::vector<Word> words_;
};

// The message without the block of time and remembered lines that the engine may put before it.
std::string_view own_words(std::string_view message);

}  // namespace chela::llm::routing
