#include "api/openai_request.h"

#include <array>

#include "api/image_part.h"
#include "api/openai_errors.h"
#include "api/openai_parameters.h"
#include "base/limits.h"
#include "base/strings.h"

namespace chela::api {
namespace {

using json::Value;

// An image: {"image_url": {"url"}}, or the address as it is.
Result<> read_image(const Value& part, const std::string& where, llm::Message& out) {
  const Value* source = part.find("image_url");
  const std::string url = source && source->as_string() ? *source->as_string()
                          : source                      ? source->string_or("url")
                                                        : "";
  if (out.role != llm::Role::kUser) return bad_param(where, "images belong into messages of the user");
  Result<llm::Image> image = image_from_url(url, where + ".image_url");
  if (!image) return fail(image.error());
  out.images.push_back(std::move(*image));
  return {};
}

Result<> read_part(const Value& part, const std::string& where, llm::Message& out) {
  const std::string type = part.string_or("type");
  if (type == "image_url") return read_image(part, where, out);
  if (type != "text" && type != "refusal")
    return bad_param(where,
                     fmt::format("a part of type '{}' is not supported; send text and image_url", type));
  const Value* text = part.find(type);
  if (!text || !text->as_string()) return bad_param(fmt::format("{}.{}", where, type), "expected a string");
  if (!out.content.empty()) out.content += '\n';
  out.content += *text->as_string();
  return {};
}

// Null stands for no text: an assistant that only calls tools.
Result<> read_content(const Value& message, const std::string& where, llm::Message& out) {
  const Value* content = message.find("content");
  const std::string param = where + ".content";
  if (!content || content->is_null()) {
    if (out.role == llm::Role::kAssistant) return {};
    return bad_param(param, "is missing; expected a string or an array of parts");
  }
  if (const std::string* text = content->as_string()) {
    out.content = *text;
    return {};
  }
  const json::Array* parts = content->as_array();
  if (!parts)
    return bad_param(param,
                     fmt::format("expected a string or an array of parts, got {}", content->type_name()));
  for (size_t i = 0; i < parts->size(); ++i) {
    if (Result<> read = read_part((*parts)[i], fmt::format("{}[{}]", param, i), out); !read) return read;
  }
  return {};
}

Result<llm::Role> role_of(const Value& message, const std::string& where) {
  const std::string name = message.string_or("role");
  if (name == "developer") return llm::Role::kSystem;
  if (const std::optional<llm::Role> role = llm::role_from_name(name)) return *role;
  return bad_param(where + ".role",
                   fmt::format("'{}' is no role; expected system, developer, user, assistant or tool", name));
}

Result<std::vector<llm::ToolCall>> tool_calls_of(const Value& message, const std::string& where) {
  const Value* list = message.find("tool_calls");
  if (!list || list->is_null()) return std::vector<llm::ToolCall>{};
  if (!list->is_array()) return bad_param(where + ".tool_calls", "expected an array");
  std::vector<llm::ToolCall> calls;
  for (const Value& each : *list->as_array()) {
    const std::string at = fmt::format("{}.tool_calls[{}]", where, calls.size());
    const Value* function = each.find("function");
    llm::ToolCall call{
        .id = each.string_or("id"), .name = function ? function->string_or("name") : "", .arguments = {}};
    if (call.id.empty() || call.name.empty())
      return bad_param(at, "expected an id and a function with a name");
    const Value* arguments = function->find("arguments");
    if (arguments)
      call.arguments = arguments->as_string() ? *arguments->as_string() : json::write(*arguments);
    calls.push_back(std::move(call));
  }
  return calls;
}

Result<llm::Message> message_of(const Value& value, const std::string& where) {
  if (!value.is_object())
    return bad_param(where, fmt::format("expected an object, got {}", value.type_name()));
  llm::Message message;
  const Result<llm::Role> role = role_of(value, where);
  if (!role) return fail(role.error());
  message.role = *role;
  if (Result<> read = read_content(value, where, message); !read) return fail(read.error());
  if (*role == llm::Role::kAssistant) {
    Result<std::vector<llm::ToolCall>> calls = tool_calls_of(value, where);
    if (!calls) return fail(calls.error());
    message.tool_calls = std::move(*calls);
  }
  if (*role == llm::Role::kTool) {
    message.tool_call_id = value.string_or("tool_call_id");
    message.name = value.string_or("name");
    if (message.tool_call_id.empty())
      return bad_param(where + ".tool_call_id", "is missing; a tool message names the call it answers");
  }
  return message;
}

Result<> read_messages(const Value& body, llm::Request& out) {
  const Value* list = body.find("messages");
  if (!list || !list->is_array()) return bad_param("messages", "expected an array of messages");
  if (list->as_array()->empty()) return bad_param("messages", "is empty; send at least one message");
  for (const Value& each : *list->as_array()) {
    Result<llm::Message> message = message_of(each, fmt::format("messages[{}]", out.messages.size()));
    if (!message) return fail(message.error());
    out.messages.push_back(std::move(*message));
  }
  return {};
}

Result<> read_tools(const Value& body, llm::Request& out) {
  const Value* list = body.find("tools");
  if (!list || list->is_null()) return {};
  if (!list->is_array()) return bad_param("tools", "expected an array");
  for (const Value& each : *list->as_array()) {
    const std::string at = fmt::format("tools[{}]", out.tools.size());
    if (const std::string type = each.string_or("type", "function"); type != "function") {
      return bad_param(at + ".type", fmt::format("'{}' is not supported; send functions", type));
    }
    const Value* function = each.find("function");
    if (!function || function->string_or("name").empty())
      return bad_param(at + ".function", "expected an object with a name");
    const Value* parameters = function->find("parameters");
    if (parameters && !parameters->is_object())
      return bad_param(at + ".function.parameters", "expected a JSON Schema of an object");
    out.tools.push_back(
        {.name = function->string_or("name"),
         .description = function->string_or("description"),
         .parameters = parameters ? *parameters : *json::parse(R"({"type":"object","properties":{}})")});
  }
  return {};
}

Result<> read_streaming(const Value& body, ChatRequest& out) {
  const Result<bool> stream = read_flag(body, "stream", "stream");
  if (!stream) return fail(stream.error());
  out.stream = *stream;
  const Value* options = body.find("stream_options");
  if (!options || options->is_null()) return {};
  const Result<bool> usage = read_flag(*options, "include_usage", "stream_options.include_usage");
  if (!usage) return fail(usage.error());
  out.include_usage = *usage;
  return {};
}

constexpr std::array<std::string_view, 5> kRead = {"model", "messages", "tools", "stream", "stream_options"};

void keep_unknown(const Value& body, llm::Request& out) {
  for (const json::Member& member : *body.as_object()) {
    if (std::find(kRead.begin(), kRead.end(), member.key) == kRead.end() && !is_parameter(member.key))
      out.extra.append(member.key, member.value);
  }
}

}  // namespace

Result<> read_model(const Value& body, llm::Request& out) {
  out.model = body.string_or("model");
  if (out.model.empty())
    return bad_param("model", "is missing; 'chela' is the agent, GET /v1/models lists all");
  if (out.model.size() > kMaxForeignIdBytes)
    return bad_param("model", fmt::format("is longer than {} bytes", kMaxForeignIdBytes));
  if (strings::trim(out.model).size() != out.model.size())
    return bad_param("model", "begins or ends with a blank");
  for (const char c : out.model) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return bad_param("model", "contains a control character");
  }
  return {};
}

Result<ChatRequest> parse_chat_request(const Value& body) {
  ChatRequest out;
  for (const auto read : {read_model, read_messages, read_tools, read_parameters}) {
    if (Result<> ok = read(body, out.request); !ok) return fail(ok.error());
  }
  if (Result<> ok = read_streaming(body, out); !ok) return fail(ok.error());
  if (const Value* metadata = body.find("metadata")) out.thread_id = metadata->string_or("thread_id");
  keep_unknown(body, out.request);
  return out;
}

}  // namespace chela::api
