#include "infer/chat_request.h"

#include "infer/limits.h"

namespace chela::infer {
namespace {

Failure wrong(std::string param, std::string message) {
  return Failure(
      Error{.code = Code::kInvalidArgument, .message = std::move(message)}.with("param", std::move(param)));
}

Failure unsupported(std::string param, std::string message) {
  return Failure(
      Error{.code = Code::kUnsupported, .message = std::move(message)}.with("param", std::move(param)));
}

// The member, or nullptr when it is absent or null: clients send null for "not set".
const json::Value* member(const json::Value& object, std::string_view key) {
  const auto* value = object.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<> read_number(const json::Value& body, std::string_view key, double low, double high,
                     std::optional<double>& out) {
  const auto* value = member(body, key);
  if (value == nullptr) return {};
  const auto number = value->as_double();
  if (!number || !(*number >= low && *number <= high))
    return wrong(std::string(key), fmt::format("{} must be a number from {} to {}", key, low, high));
  out = *number;
  return {};
}

// Text of a message: a string, or an array of text parts.
Result<std::string> read_content(const json::Value& message, const std::string& param) {
  const auto* content = member(message, "content");
  if (content == nullptr) return std::string();
  if (const auto* text = content->as_string()) return *text;
  const auto* parts = content->as_array();
  if (parts == nullptr) return wrong(param, "content must be a string or an array of parts");
  std::string out;
  for (const auto& part : *parts) {
    const auto type = part.string_or("type");
    if (type != "text")
      return unsupported(
          param,
          fmt::format("content parts of type \"{}\" are not supported by local models; send text", type));
    out += part.string_or("text");
  }
  return out;
}

Result<std::vector<ToolCall>> read_tool_calls(const json::Value& message, const std::string& param) {
  std::vector<ToolCall> out;
  const auto* list = member(message, "tool_calls");
  if (list == nullptr) return out;
  if (list->as_array() == nullptr) return wrong(param, "tool_calls must be an array");
  for (const auto& entry : *list->as_array()) {
    const auto* function = entry.find("function");
    if (function == nullptr || function->string_or("name").empty())
      return wrong(param, "a tool call needs function.name");
    out.push_back(
        {entry.string_or("id"), function->string_or("name"), function->string_or("arguments", "{}")});
  }
  return out;
}

Result<Message> read_message(const json::Value& value, std::size_t index) {
  const auto param = fmt::format("messages[{}]", index);
  if (!value.is_object()) return wrong(param, "a message must be an object");
  Message out;
  const auto role = value.string_or("role");
  if (role == "system" || role == "developer") {
    out.role = Role::kSystem;
  } else if (role == "user") {
    out.role = Role::kUser;
  } else if (role == "assistant") {
    out.role = Role::kAssistant;
  } else if (role == "tool") {
    out.role = Role::kTool;
  } else {
    return wrong(
        param + ".role",
        fmt::format("unknown role \"{}\": expected system, developer, user, assistant or tool", role));
  }
  auto content = read_content(value, param + ".content");
  if (!content) return fail(content.error());
  out.content = *std::move(content);
  auto calls = read_tool_calls(value, param + ".tool_calls");
  if (!calls) return fail(calls.error());
  out.tool_calls = *std::move(calls);
  out.tool_call_id = value.string_or("tool_call_id");
  if (out.role == Role::kTool && out.tool_call_id.empty())
    return wrong(param + ".tool_call_id", "a tool message needs the id of its call");
  return out;
}

Result<> read_messages(const json::Value& body, ChatRequest& out) {
  const auto* list = member(body, "messages");
  if (list == nullptr || list->as_array() == nullptr || list->as_array()->empty())
    return wrong("messages", "messages must be an array of at least one message");
  if (list->as_array()->size() > kMaxMessages)
    return wrong("messages", fmt::format("{} messages are more than the {} that are allowed",
                                         list->as_array()->size(), kMaxMessages));
  for (const auto& entry : *list->as_array()) {
    auto message = read_message(entry, out.messages.size());
    if (!message) return fail(message.error());
    out.messages.push_back(*std::move(message));
  }
  return {};
}

Result<> read_tools(const json::Value& body, ChatRequest& out) {
  const auto* list = member(body, "tools");
  if (list == nullptr) return {};
  if (list->as_array() == nullptr) return wrong("tools", "tools must be an array");
  if (list->as_array()->size() > kMaxTools)
    return wrong("tools", fmt::format("{} tools are more than the {} that are allowed",
                                      list->as_array()->size(), kMaxTools));
  for (const auto& entry : *list->as_array()) {
    const auto* function = entry.find("function");
    if (entry.string_or("type") != "function" || function == nullptr || function->string_or("name").empty()) {
      return wrong(fmt::format("tools[{}]", out.tools.size()),
                   "a tool must be {\"type\":\"function\",\"function\":{\"name\":...}}");
    }
    const auto* parameters = function->find("parameters");
    out.tools.push_back({function->string_or("name"), function->string_or("description"),
                         parameters == nullptr ? json::Value() : *parameters});
  }
  return {};
}

Result<> read_tool_choice(const json::Value& body, ChatRequest& out) {
  const auto* choice = member(body, "tool_choice");
  if (choice == nullptr) return {};
  if (const auto* word = choice->as_string()) {
    if (*word == "none") {
      out.tool_choice = ToolChoice::kNone;
    } else if (*word == "required") {
      out.tool_choice = ToolChoice::kRequired;
    } else if (*word != "auto") {
      return wrong(
          "tool_choice",
          fmt::format("tool_choice \"{}\" is unknown: expected auto, none, required or a function", *word));
    }
  } else {
    const auto* function = choice->find("function");
    out.tool_choice_name = function == nullptr ? "" : function->string_or("name");
    out.tool_choice = ToolChoice::kRequired;
    const bool offered = std::any_of(out.tools.begin(), out.tools.end(),
                                     [&](const ToolSpec& tool) { return tool.name == out.tool_choice_name; });
    if (!offered)
      return wrong("tool_choice", fmt::format("tool_choice names \"{}\", which is not among the tools",
                                              out.tool_choice_name));
  }
  if (out.tool_choice == ToolChoice::kRequired && out.tools.empty())
    return wrong("tool_choice", "tool_choice is required, but there are no tools");
  return {};
}

Result<> read_stop(const json::Value& body, ChatRequest& out) {
  const auto* stop = member(body, "stop");
  if (stop == nullptr) return {};
  const auto add = [&](const json::Value& value) -> Result<> {
    const auto* text = value.as_string();
    if (text == nullptr || text->empty() || text->size() > kMaxStopBytes)
      return wrong("stop", fmt::format("a stop string must have 1 to {} bytes", kMaxStopBytes));
    out.sampling.stop.push_back(*text);
    return {};
  };
  if (stop->is_string()) return add(*stop);
  if (stop->as_array() == nullptr || stop->as_array()->size() > kMaxStopStrings)
    return wrong("stop", fmt::format("stop must be a string or an array of at most {}", kMaxStopStrings));
  for (const auto& entry : *stop->as_array()) {
    if (auto added = add(entry); !added) return added;
  }
  return {};
}

Result<> read_sampling(const json::Value& body, ChatRequest& out) {
  auto& sampling = out.sampling;
  if (auto ok = read_number(body, "temperature", 0, 2, sampling.temperature); !ok) return ok;
  if (auto ok = read_number(body, "top_p", 0, 1, sampling.top_p); !ok) return ok;
  if (auto ok = read_number(body, "frequency_penalty", -2, 2, sampling.frequency_penalty); !ok) return ok;
  if (auto ok = read_number(body, "presence_penalty", -2, 2, sampling.presence_penalty); !ok) return ok;
  for (const std::string_view key : {"max_tokens", "max_completion_tokens"}) {
    const auto* value = member(body, key);
    if (value == nullptr) continue;
    const auto number = value->as_int();
    if (!number || *number < 1)
      return wrong(std::string(key), fmt::format("{} must be a whole number from 1", key));
    sampling.max_tokens = static_cast<std::size_t>(*number);
  }
  if (const auto* seed = member(body, "seed")) {
    const auto number = seed->as_int();
    if (!number) return wrong("seed", "seed must be a whole number");
    sampling.seed = static_cast<std::uint32_t>(*number);
  }
  return read_stop(body, out);
}

// What changes the answer and is not done here is refused instead of ignored.
Result<> refuse_unsupported(const json::Value& body) {
  if (const auto* n = member(body, "n"); n != nullptr && n->as_int() != 1)
    return unsupported("n", "local models give one choice; leave n out");
  if (body.bool_or("logprobs", false))
    return unsupported("logprobs", "local models give no log probabilities");
  if (const auto* format = member(body, "response_format");
      format != nullptr && format->string_or("type") != "text") {
    return unsupported("response_format", "local models answer in text only; leave response_format out");
  }
  return {};
}

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
    case Role::kTool:
      return "tool";
  }
  return "";
}

Result<ChatRequest> parse_chat_request(const json::Value& body) {
  if (!body.is_object()) return wrong("", "the body must be a JSON object");
  ChatRequest out;
  out.model = body.string_or("model");
  if (out.model.empty()) return wrong("model", "model must be the id of a model; GET /v1/models lists them");
  if (auto ok = read_messages(body, out); !ok) return fail(ok.error());
  if (auto ok = read_tools(body, out); !ok) return fail(ok.error());
  if (auto ok = read_tool_choice(body, out); !ok) return fail(ok.error());
  if (auto ok = read_sampling(body, out); !ok) return fail(ok.error());
  if (auto ok = refuse_unsupported(body); !ok) return fail(ok.error());
  if (body.bool_or("stream", false)) out.delivery = Delivery::kStream;
  if (const auto* options = member(body, "stream_options");
      options != nullptr && options->bool_or("include_usage", false))
    out.usage_chunk = UsageChunk::kYes;
  return out;
}

}  // namespace chela::infer
