#include "llm/provider.h"

#include <array>

namespace chela::llm {
namespace {

constexpr std::array<std::pair<Role, std::string_view>, 4> kRoles{{{Role::kSystem, "system"},
                                                                   {Role::kUser, "user"},
                                                                   {Role::kAssistant, "assistant"},
                                                                   {Role::kTool, "tool"}}};

constexpr std::array<std::pair<FinishReason, std::string_view>, 5> kFinishReasons{{
    {FinishReason::kStop, "stop"},
    {FinishReason::kLength, "length"},
    {FinishReason::kToolCalls, "tool_calls"},
    {FinishReason::kContentFilter, "content_filter"},
    {FinishReason::kUnknown, "unknown"},
}};

json::Value call_to_json(const ToolCall& call) {
  return json::Value::object(
      {{"id", call.id},
       {"type", "function"},
       {"function", json::Value::object({{"name", call.name}, {"arguments", call.arguments}})}});
}

json::Value tool_to_json(const ToolSpec& tool) {
  return json::Value::object({{"type", "function"},
                              {"function", json::Value::object({{"name", tool.name},
                                                                {"description", tool.description},
                                                                {"parameters", *tool.parameters}})}});
}

void set_tools(json::Value& out, const Request& request) {
  if (request.tools.empty()) return;  // providers refuse a choice without tools
  json::Array tools;
  for (const ToolSpec& tool : request.tools) tools.push_back(tool_to_json(tool));
  out.set("tools", std::move(tools));
  if (!request.tool_choice_name.empty()) {
    const json::Value function = json::Value::object({{"name", request.tool_choice_name}});
    out.set("tool_choice", json::Value::object({{"type", "function"}, {"function", function}}));
  } else if (request.tool_choice != ToolChoice::kAuto) {
    out.set("tool_choice", request.tool_choice == ToolChoice::kNone ? "none" : "required");
  }
}

// Text, null, or an array of text parts.
Result<std::string> content_from_json(const json::Value* content) {
  if (content == nullptr || content->is_null()) return std::string();
  if (const std::string* text = content->as_string()) return *text;
  const json::Array* parts = content->as_array();
  if (parts == nullptr) {
    return fail(Code::kInvalidArgument, "a message's content is {}; give a text or an array of text parts",
                content->type_name());
  }
  std::string joined;
  for (const json::Value& part : *parts) {
    const json::Value* text = part.find("text");
    if (part.string_or("type") != "text" || text == nullptr || !text->is_string()) {
      return fail(Code::kUnsupported,
                  "a message has a part of type '{}'; only parts of type 'text' are supported",
                  part.string_or("type", "?"));
    }
    joined += *text->as_string();
  }
  return joined;
}

Result<ToolCall> call_from_json(const json::Value& value) {
  const json::Value* function = value.find("function");
  if (function == nullptr || !function->is_object()) {
    return fail(Code::kInvalidArgument, "an entry of tool_calls has no 'function' object");
  }
  ToolCall call{.id = value.string_or("id"), .name = function->string_or("name"), .arguments = {}};
  const json::Value* arguments = function->find("arguments");
  if (arguments != nullptr && arguments->is_string()) {
    call.arguments = *arguments->as_string();
  } else if (arguments != nullptr && !arguments->is_null()) {
    call.arguments = json::write(*arguments);
  }
  return call;
}

}  // namespace

std::string_view role_name(Role role) {
  for (const auto& [known, name] : kRoles) {
    if (known == role) return name;
  }
  return "user";
}

std::optional<Role> role_from_name(std::string_view name) {
  if (name == "developer") return Role::kSystem;  // OpenAI's newer word for it
  for (const auto& [role, known] : kRoles) {
    if (known == name) return role;
  }
  return std::nullopt;
}

std::string_view finish_reason_name(FinishReason reason) {
  for (const auto& [known, name] : kFinishReasons) {
    if (known == reason) return name;
  }
  return "unknown";
}

FinishReason finish_reason_from_name(std::string_view name) {
  for (const auto& [reason, known] : kFinishReasons) {
    if (known == name) return reason;
  }
  // Words of providers that speak the protocol with an accent.
  if (name == "function_call" || name == "tool_use") return FinishReason::kToolCalls;
  if (name == "max_tokens" || name == "model_length") return FinishReason::kLength;
  if (name == "end_turn" || name == "eos" || name == "stop_sequence") return FinishReason::kStop;
  return FinishReason::kUnknown;
}

json::Value to_json(const Message& message) {
  json::Value out = json::Value::object({{"role", role_name(message.role)}});
  const bool only_calls = message.content.empty() && !message.tool_calls.empty();
  out.set("content", only_calls ? json::Value() : json::Value(message.content));
  if (!message.tool_calls.empty()) {
    json::Array calls;
    for (const ToolCall& call : message.tool_calls) calls.push_back(call_to_json(call));
    out.set("tool_calls", std::move(calls));
  }
  if (!message.tool_call_id.empty()) out.set("tool_call_id", message.tool_call_id);
  if (!message.name.empty()) out.set("name", message.name);
  return out;
}

Result<Message> message_from_json(const json::Value& value) {
  if (!value.is_object())
    return fail(Code::kInvalidArgument, "a message is {}, not an object", value.type_name());
  const std::string role = value.string_or("role");
  const std::optional<Role> known = role_from_name(role);
  if (!known) {
    return fail(Code::kInvalidArgument, "a message has the role '{}'; use system, user, assistant or tool",
                role);
  }
  Result<std::string> content = content_from_json(value.find("content"));
  if (!content) return fail(std::move(content.error()));
  Message message{.role = *known,
                  .content = std::move(*content),
                  .tool_call_id = value.string_or("tool_call_id"),
                  .name = value.string_or("name")};
  const json::Value* calls = value.find("tool_calls");
  if (calls == nullptr || calls->is_null()) return message;
  if (calls->as_array() == nullptr) return fail(Code::kInvalidArgument, "a message's tool_calls is no array");
  for (const json::Value& entry : *calls->as_array()) {
    Result<ToolCall> call = call_from_json(entry);
    if (!call) return fail(std::move(call.error()));
    message.tool_calls.push_back(std::move(*call));
  }
  return message;
}

json::Value to_json(const Request& request) {
  json::Value out = json::Value::object({{"model", request.model}});
  json::Array messages;
  for (const Message& message : request.messages) messages.push_back(to_json(message));
  out.set("messages", std::move(messages));
  set_tools(out, request);
  if (request.temperature) out.set("temperature", *request.temperature);
  if (request.top_p) out.set("top_p", *request.top_p);
  if (request.max_tokens) out.set("max_tokens", *request.max_tokens);
  if (request.seed) out.set("seed", *request.seed);
  if (!request.stop.empty()) {
    json::Array stop;
    for (const std::string& text : request.stop) stop.emplace_back(text);
    out.set("stop", std::move(stop));
  }
  if (request.response_format) out.set("response_format", *request.response_format);
  for (const json::Member& member : request.extra) {
    if (out.find(member.key) == nullptr) out.set(member.key, member.value);
  }
  return out;
}

}  // namespace chela::llm
