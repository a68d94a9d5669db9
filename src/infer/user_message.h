// Takes a user message of the engine apart: the optional context block (time, recalled memory) and what the person wrote.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chela::infer {

struct UserMessage {
  std::optional<std::string> time;  // first word of the [time] line, RFC 3339
  std::vector<std::string> memory;  // text of the [memory] lines
  std::string text;                 // the rest, trimmed
};

// A message without a well-formed block is all text: a block counts only at the very start and only when it is closed.
UserMessage parse_user_message(std::string_view content);

}  // namespace chela::infer
