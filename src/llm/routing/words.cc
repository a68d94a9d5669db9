#include "llm/routing/words.h"

#include "base/strings.h"
#include "llm/routing/limits.h"

namespace chela::llm::routing {
namespace {

constexpr std::string_view kApostrophe = "\xe2\x80\x99";  // U+2019
constexpr std::string_view kBlockBegin = "<context>\n";
constexpr std::string_view kBlockEnd = "</context>\n\n";

bool in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' || byte >= 0x80;
}

std::string read_part(std::string_view text) {
  if (text.size() <= kMaxReadBytes) return strings::lower(text);
  const std::size_t tail = kMaxReadBytes / 4;
  std::string part = strings::lower(text.substr(0, kMaxReadBytes - tail - 1));
  part += '\n';
  return part + strings::lower(text.substr(text.size() - tail));
}

}  // namespace

Words::Words(std::string_view text) {
  text = strings::trim(text);
  bytes_ = text.size();
  text_ = strings::replace_all(read_part(text), kApostrophe, "'");
  std::uint32_t line = 0;
  for (std::size_t i = 0; i < text_.size();) {
    if (!in_word(text_[i])) {
      line += text_[i] == '\n' ? 1 : 0;
      ++i;
      continue;
    }
    const std::size_t begin = i;
    const auto inside = [this, &i] {
      return in_word(text_[i]) || (text_[i] == '\'' && i + 1 < text_.size() && in_word(text_[i + 1]));
    };
    while (i < text_.size() && inside()) ++i;
    words_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(i - begin), line});
  }
}

std::string_view own_words(std::string_view message) {
  if (!message.starts_with(kBlockBegin)) return message;
  const std::size_t end = message.find(kBlockEnd);
  return end == std::string_view::npos ? message : message.substr(end + kBlockEnd.size());
}

}  // namespace chela::llm::routing
