#include "infer/text_stream.h"

#include <algorithm>

#include "base/utf8.h"

namespace chela::infer {
namespace {

// The longest end of `text` that is a beginning of `stop`.
std::size_t partial_stop(std::string_view text, std::string_view stop) {
  for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (text.ends_with(stop.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

std::string TextStream::take(std::size_t bytes) {
  auto out = utf8::sanitize(std::string_view(held_).substr(0, bytes));
  held_.erase(0, bytes);
  return out;
}

std::string TextStream::push(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  auto found = std::string::npos;
  for (const auto& stop : stops_) found = std::min(found, held_.find(stop));
  if (found != std::string::npos) {
    stopped_ = true;
    held_.resize(found);
    return take(found);
  }
  std::size_t hold = utf8::incomplete_tail(held_);
  for (const auto& stop : stops_) hold = std::max(hold, partial_stop(held_, stop));
  return take(held_.size() - hold);
}

std::string TextStream::finish() { return take(held_.size()); }

}  // namespace chela::infer
