#include "llm/responses/request_body.h"

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "llm/wire/provider_data.h"
#include "llm/wire/turns.h"

namespace chela::llm::responses {
namespace {

json::Value text_item(std::string_view role, std::string_view text) {
  const std::string_view type = role == "assistant" ? "output_text" : "input_text";
  return json::Value::object(
      {{"role", role},
       {"content", json::Value::array({json::Value::object({{"type", type}, {"text", text}})})}});
}

json::Value user_item(const Message& message) {
  json::Value item = text_item("user", message.content);
  json::Array& content = *item.find("content")->as_array();
  if (message.content.empty()) content.clear();
  for (const Image& image : message.images) {
    if (!image.bytes) continue;
    const std::string url = fmt::format("data:{};base64,{}", image.media_type, base64::encode(*image.bytes));
    content.push_back(json::Value::object({{"type", "input_image"}, {"image_url", url}}));
  }
  return item;
}

class Input {
 public:
  explicit Input(bool thoughts) : thoughts_(thoughts) {}

  void add(const Message& message) {
    switch (message.role) {
      case Role::kSystem:
        return add_system(message);
      case Role::kUser:
        items_.push_back(user_item(message));
        return;
      case Role::kAssistant:
        return add_answer(message);
      case Role::kTool:
        items_.push_back(json::Value::object({{"type", "function_call_output"},
                                              {"call_id", message.tool_call_id},
                                              {"output", message.content}}));
        return;
    }
  }

  std::string instructions;
  json::Array take() { return std::move(items_); }

 private:
  void add_system(const Message& message) {
    if (!items_.empty()) {
      items_.push_back(text_item("system", message.content));
      return;
    }
    if (!instructions.empty()) instructions += "\n\n";
    instructions += message.content;
  }

  void add_answer(const Message& message) {
    const std::optional<json::Value> kept = wire::provider_data_of("responses", message.provider_data);
    if (thoughts_ && kept && kept->is_array())
      std::ranges::copy(*kept->as_array(), std::back_inserter(items_));
    if (!message.content.empty()) items_.push_back(text_item("assistant", message.content));
    for (const ToolCall& call : message.tool_calls) {
      items_.push_back(json::Value::object({{"type", "function_call"},
                                            {"call_id", call.id},
                                            {"name", call.name},
                                            {"arguments", call.arguments}}));
    }
  }

  bool thoughts_;
  json::Array items_;
};

void set_tools(json::Value& body, const Request& request) {
  if (request.tools.empty()) return;
  json::Array tools;
  for (const ToolSpec& tool : request.tools) {
    json::Value entry = json::Value::object({{"type", "function"}, {"name", tool.name}});
    entry.set("description", tool.description);
    entry.set("parameters", *tool.parameters);
    entry.set("strict", false);  // else the server wants every property required
    tools.push_back(std::move(entry));
  }
  body.set("tools", std::move(tools));
  if (!request.tool_choice_name.empty()) {
    body.set("tool_choice", json::Value::object({{"type", "function"}, {"name", request.tool_choice_name}}));
  } else if (request.tool_choice != ToolChoice::kAuto) {
    body.set("tool_choice", request.tool_choice == ToolChoice::kNone ? "none" : "required");
  }
  if (request.sampling.parallel_tool_calls)
    body.set("parallel_tool_calls", *request.sampling.parallel_tool_calls);
}

// OpenAI's response_format, whose schema lies one level higher here.
void set_format(json::Value& body, const json::Value& format) {
  const std::string type = format.string_or("type");
  json::Value out = json::Value::object({{"type", type}});
  const json::Value* schema = format.find("json_schema");
  if (type == "json_schema" && schema != nullptr && schema->is_object()) {
    for (const json::Member& member : *schema->as_object()) out.set(member.key, member.value);
  }
  body.set("text", json::Value::object({{"format", std::move(out)}}));
}

void set_sampling(json::Value& body, const Request& request, bool thinking) {
  const Sampling& sampling = request.sampling;
  if (sampling.temperature && !thinking) body.set("temperature", *sampling.temperature);
  if (sampling.top_p && !thinking) body.set("top_p", *sampling.top_p);
  if (sampling.max_tokens) body.set("max_output_tokens", *sampling.max_tokens);
  if (sampling.response_format) set_format(body, *sampling.response_format);
  if (!thinking) return;
  json::Value reasoning = json::Value::object();
  if (!sampling.reasoning_effort.empty()) {
    reasoning.set("effort", sampling.reasoning_effort);
    reasoning.set("summary", "auto");
    body.set("reasoning", std::move(reasoning));
  }
  body.set("include", json::Value::array({"reasoning.encrypted_content"}));
}

}  // namespace

bool thinks(std::string_view model) {
  if (model.contains("-chat")) return false;
  static constexpr std::array<std::string_view, 5> kFamilies{"o1", "o3", "o4", "gpt-5", "codex"};
  return std::ranges::any_of(kFamilies,
                             [model](std::string_view family) { return model.starts_with(family); });
}

std::string request_body(Request request) {
  json::Value body = json::Value::object({{"model", request.model}});
  const bool thinking = thinks(request.model);
  Input input(thinking);
  for (const Message& message : wire::well_ordered(std::move(request.messages))) input.add(message);
  if (!input.instructions.empty()) body.set("instructions", input.instructions);
  body.set("input", input.take());
  set_tools(body, request);
  set_sampling(body, request, thinking);
  for (const std::string_view key :
       {"metadata", "user", "service_tier", "prompt_cache_key", "safety_identifier"}) {
    if (const json::Value* value = request.extra.find(key)) body.set(std::string(key), *value);
  }
  body.set("store", false);
  body.set("stream", true);
  return json::write(body);
}

}  // namespace chela::llm::responses
