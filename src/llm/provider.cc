#include "llm/provider.h"

#include <algorithm>
#include <array>

#include "base/base64.h"

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

// Text and images as OpenAI's parts: an image is a data: address, or without its bytes only a name.
json::Value parts_to_json(const Message& message) {
  json::Array parts;
  if (!message.content.empty())
    parts.push_back(json::Value::object({{"type", "text"}, {"text", message.content}}));
  for (const Image& image : message.images) {
    const std::string url =
        image.bytes ? fmt::format("data:{};base64,{}", image.media_type, base64::encode(*image.bytes))
                    : "blob:" + image.hash;
    parts.push_back(
        json::Value::object({{"type", "image_url"}, {"image_url", json::Value::object({{"url", url}})}}));
  }
  return parts;
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
  if (message.images.empty()) {
    out.set("content", only_calls ? json::Value() : json::Value(message.content));
  } else {
    out.set("content", parts_to_json(message));
  }
  if (!message.tool_calls.empty()) {
    json::Array calls;
    for (const ToolCall& call : message.tool_calls) calls.push_back(call_to_json(call));
    out.set("tool_calls", std::move(calls));
  }
  if (!message.tool_call_id.empty()) out.set("tool_call_id", message.tool_call_id);
  if (!message.name.empty()) out.set("name", message.name);
  if (!message.provider_data.empty()) out.set("provider_data", message.provider_data);
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
                  .name = value.string_or("name"),
                  .provider_data = value.string_or("provider_data")};
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

void add_to(json::Object& out, const Sampling& sampling) {
  if (sampling.temperature) out.set("temperature", *sampling.temperature);
  if (sampling.top_p) out.set("top_p", *sampling.top_p);
  if (sampling.presence_penalty) out.set("presence_penalty", *sampling.presence_penalty);
  if (sampling.frequency_penalty) out.set("frequency_penalty", *sampling.frequency_penalty);
  if (sampling.max_tokens) out.set("max_tokens", *sampling.max_tokens);
  if (sampling.seed) out.set("seed", *sampling.seed);
  if (!sampling.stop.empty()) {
    json::Array stop;
    for (const std::string& text : sampling.stop) stop.emplace_back(text);
    out.set("stop", std::move(stop));
  }
  if (sampling.response_format) out.set("response_format", *sampling.response_format);
  if (!sampling.reasoning_effort.empty()) out.set("reasoning_effort", sampling.reasoning_effort);
  if (sampling.parallel_tool_calls) out.set("parallel_tool_calls", *sampling.parallel_tool_calls);
}

Sampling sampling_from_json(const json::Value& value) {
  const auto number = [&value](std::string_view key) -> std::optional<double> {
    const json::Value* found = value.find(key);
    return found != nullptr && found->is_number() ? found->as_double() : std::nullopt;
  };
  const auto integer = [&value](std::string_view key) -> std::optional<std::int64_t> {
    const json::Value* found = value.find(key);
    return found != nullptr ? found->as_int() : std::nullopt;
  };
  Sampling out{.temperature = number("temperature"),
               .top_p = number("top_p"),
               .presence_penalty = number("presence_penalty"),
               .frequency_penalty = number("frequency_penalty"),
               .max_tokens = integer("max_tokens"),
               .seed = integer("seed"),
               .reasoning_effort = value.string_or("reasoning_effort")};
  const json::Value* stop = value.find("stop");
  if (stop != nullptr && stop->as_array() != nullptr) {
    for (const json::Value& text : *stop->as_array()) {
      if (text.as_string() != nullptr) out.stop.push_back(*text.as_string());
    }
  }
  if (const json::Value* format = value.find("response_format")) out.response_format = *format;
  const json::Value* parallel = value.find("parallel_tool_calls");
  if (parallel != nullptr && parallel->as_bool()) out.parallel_tool_calls = *parallel->as_bool();
  return out;
}

json::Value to_json(const Request& request) {
  json::Value out = json::Value::object({{"model", request.model}});
  json::Array messages;
  for (const Message& message : request.messages) messages.push_back(to_json(message));
  out.set("messages", std::move(messages));
  set_tools(out, request);
  add_to(*out.as_object(), request.sampling);
  if (request.tools.empty()) out.as_object()->erase("parallel_tool_calls");  // refused, as a choice is
  std::vector<std::string> ours;
  for (const json::Member& member : *out.as_object()) ours.push_back(member.key);
  for (const json::Member& member : request.extra) {
    if (std::ranges::find(ours, member.key) == ours.end()) out.as_object()->append(member.key, member.value);
  }
  return out;
}

}  // namespace chela::llm
