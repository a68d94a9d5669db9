#include "infer/user_message.h"

#include "base/strings.h"

namespace chela::infer {
namespace {

constexpr std::string_view kOpen = "<context>";
constexpr std::string_view kClose = "</context>";
constexpr std::string_view kTime = "[time]";
constexpr std::string_view kMemory = "[memory]";

std::string_view next_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  auto line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Reads the lines up to the closing one. False when there is none.
bool read_block(std::string_view& rest, UserMessage& out) {
  bool in_memory = false;
  while (!rest.empty()) {
    const auto line = strings::trim(next_line(rest));
    if (line == kClose) return true;
    if (line.starts_with(kTime)) {
      const auto value = strings::trim(line.substr(kTime.size()));
      out.time = std::string(value.substr(0, value.find(' ')));
      in_memory = false;
    } else if (line.starts_with(kMemory)) {
      out.memory.emplace_back(strings::trim(line.substr(kMemory.size())));
      in_memory = true;
    } else if (line.starts_with('[')) {
      in_memory = false;  // a kind of line that a later engine may add
    } else if (in_memory && !line.empty()) {
      out.memory.back() += '\n';
      out.memory.back() += line;  // a remembered text of several lines
    }
  }
  return false;
}

}  // namespace

UserMessage parse_user_message(std::string_view content) {
  UserMessage out;
  std::string_view rest = strings::trim(content);
  if (strings::trim(rest.substr(0, rest.find('\n'))) == kOpen) {
    std::string_view body = rest;
    next_line(body);
    UserMessage found;
    if (read_block(body, found)) {
      std::erase_if(found.memory, [](const std::string& line) { return line.empty(); });
      if (found.time && found.time->empty()) found.time.reset();
      out = std::move(found);
      rest = body;
    }
  }
  out.text = std::string(strings::trim(rest));
  return out;
}

}  // namespace chela::infer
