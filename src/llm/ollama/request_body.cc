#include "llm/ollama/request_body.h"

#include <map>

#include "base/base64.h"
#include "llm/wire/turns.h"

namespace chela::llm::ollama {
namespace {

json::Value calls_of(const std::vector<ToolCall>& calls) {
  json::Array out;
  for (const ToolCall& call : calls) {
    json::Value entry = json::Value::object();
    if (!call.id.empty()) entry.set("id", call.id);
    entry.set("function",
              json::Value::object({{"name", call.name}, {"arguments", wire::arguments_object(call)}}));
    out.push_back(std::move(entry));
  }
  return out;
}

json::Value images_of(const std::vector<Image>& images) {
  json::Array out;
  for (const Image& image : images) {
    if (image.bytes) out.emplace_back(base64::encode(*image.bytes));
  }
  return out;
}

json::Array messages_of(std::vector<Message> messages) {
  json::Array out;
  std::map<std::string, std::string> names;  // of calls, by id
  for (const Message& message : wire::well_ordered(std::move(messages))) {
    json::Value entry =
        json::Value::object({{"role", role_name(message.role)}, {"content", message.content}});
    if (json::Value images = images_of(message.images); !images.as_array()->empty())
      entry.set("images", std::move(images));
    for (const ToolCall& call : message.tool_calls) names[call.id] = call.name;
    if (!message.tool_calls.empty()) entry.set("tool_calls", calls_of(message.tool_calls));
    if (message.role == Role::kTool) {
      const auto known = names.find(message.tool_call_id);
      entry.set("tool_name", known != names.end() ? known->second : message.name);
      entry.set("tool_call_id", message.tool_call_id);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

json::Array tools_of(const std::vector<ToolSpec>& tools) {
  json::Array out;
  for (const ToolSpec& tool : tools) {
    json::Value function = json::Value::object({{"name", tool.name}, {"description", tool.description}});
    function.set("parameters", *tool.parameters);
    out.push_back(json::Value::object({{"type", "function"}, {"function", std::move(function)}}));
  }
  return out;
}

json::Object options_of(const Request& request) {
  const Sampling& sampling = request.sampling;
  json::Object options;
  // What a client says in the protocol's own words, the size of the context for example.
  if (const json::Value* own = request.extra.find("options"); own != nullptr && own->is_object())
    options = *own->as_object();
  if (sampling.temperature) options.set("temperature", *sampling.temperature);
  if (sampling.top_p) options.set("top_p", *sampling.top_p);
  if (sampling.presence_penalty) options.set("presence_penalty", *sampling.presence_penalty);
  if (sampling.frequency_penalty) options.set("frequency_penalty", *sampling.frequency_penalty);
  if (sampling.seed) options.set("seed", *sampling.seed);
  if (sampling.max_tokens) options.set("num_predict", *sampling.max_tokens);
  if (!sampling.stop.empty()) {
    json::Array stop;
    for (const std::string& text : sampling.stop) stop.emplace_back(text);
    options.set("stop", std::move(stop));
  }
  return options;
}

// OpenAI's response_format: any JSON, or a schema.
std::optional<json::Value> format_of(const Sampling& sampling) {
  if (!sampling.response_format) return std::nullopt;
  const std::string type = sampling.response_format->string_or("type");
  if (type == "json_object") return json::Value("json");
  const json::Value* inner = sampling.response_format->find("json_schema");
  const json::Value* schema = inner != nullptr ? inner->find("schema") : nullptr;
  return schema != nullptr ? std::optional(*schema) : std::nullopt;
}

json::Value think_of(const std::string& effort) {
  if (effort == "none") return false;
  if (effort == "minimal") return "low";
  return effort == "low" || effort == "medium" ? json::Value(effort) : json::Value("high");
}

}  // namespace

std::string request_body(Request request) {
  json::Value body = json::Value::object({{"model", request.model}});
  body.set("messages", messages_of(std::move(request.messages)));
  const bool off = request.tool_choice == ToolChoice::kNone && request.tool_choice_name.empty();
  if (!request.tools.empty() && !off) body.set("tools", tools_of(request.tools));
  if (json::Object options = options_of(request); !options.empty()) body.set("options", std::move(options));
  if (std::optional<json::Value> format = format_of(request.sampling)) body.set("format", std::move(*format));
  if (!request.sampling.reasoning_effort.empty())
    body.set("think", think_of(request.sampling.reasoning_effort));
  if (const json::Value* alive = request.extra.find("keep_alive")) body.set("keep_alive", *alive);
  body.set("stream", true);
  return json::write(body);
}

}  // namespace chela::llm::ollama
