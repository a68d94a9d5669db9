// Turns the byte pieces of a model into text that may be shown: whole UTF-8 characters, nothing of a stop string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chela::infer {

class TextStream {
 public:
  explicit TextStream(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // Takes the next piece; returns what can be shown now. Bytes that are part of an unfinished character, or may be the begin of a
  // stop string, are held back. Invalid UTF-8 becomes U+FFFD.
  std::string push(std::string_view piece);
  // The model has ended: what was held back.
  std::string finish();
  // True when a stop string has come; then nothing more is shown.
  bool stopped() const { return stopped_; }

 private:
  std::string take(std::size_t bytes);

  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace chela::infer
