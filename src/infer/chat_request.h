// A request of POST /v1/chat/completions as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "infer/tool_spec.h"

namespace chela::infer {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text
};

enum class Role { kSystem, kUser, kAssistant, kTool };
std::string_view role_name(Role role);

struct Message {
  Role role = Role::kUser;
  std::string content;
  std::vector<ToolCall> tool_calls;  // of an assistant
  std::string tool_call_id;          // of a tool
};

enum class ToolChoice { kAuto, kNone, kRequired };
enum class Delivery { kWhole, kStream };
enum class UsageChunk { kNo, kYes };

struct Sampling {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<double> frequency_penalty;
  std::optional<double> presence_penalty;
  std::optional<std::size_t> max_tokens;
  std::optional<std::uint32_t> seed;
  std::vector<std::string> stop;
};

struct ChatRequest {
  std::string model;
  std::vector<Message> messages;
  std::vector<ToolSpec> tools;
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::string tool_choice_name;  // a function that must be called
  Sampling sampling;
  Delivery delivery = Delivery::kWhole;
  UsageChunk usage_chunk = UsageChunk::kNo;
};

// Reads the body. Unknown fields are passed over; a known one of the wrong kind, a limit exceeded (limits.h) or something this server
// cannot do (images, several choices, response formats, log probabilities) is an error whose detail "param" names the field.
Result<ChatRequest> parse_chat_request(const json::Value& body);

}  // namespace chela::infer
