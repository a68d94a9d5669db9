#include "llm/openai/request_body.h"

#include "llm/openai/answer_builder.h"
#include "llm/wire/provider_data.h"
#include "llm/wire/turns.h"

namespace chela::llm::openai {
namespace {

void write_tools_to(std::string& out, const std::vector<ToolSpec>& tools) {
  char separator = '[';
  for (const ToolSpec& tool : tools) {
    out += std::exchange(separator, ',');
    out += R"({"type":"function","function":{"name":)";
    json::write_string_to(out, tool.name);
    out += R"(,"description":)";
    json::write_string_to(out, tool.description);
    out += R"(,"parameters":)";
    json::write_to(out, tool.parameters);
    out += "}}";
  }
  out += ']';
}

// What each message has to have beside what the request says: the thoughts before its calls. Those of another model are not there; the
// server only wants the field.
std::vector<std::optional<std::string>> thoughts_of(const std::vector<Message>& messages) {
  std::vector<std::optional<std::string>> out;
  for (const Message& message : messages) {
    std::optional<std::string>& thoughts = out.emplace_back();
    if (message.role != Role::kAssistant || message.tool_calls.empty()) continue;
    const std::optional<json::Value> kept = wire::provider_data_of(kChatData, message.provider_data);
    thoughts = kept && kept->is_string() ? *kept->as_string() : std::string();
  }
  return out;
}

void rename(json::Value& body, std::string_view name, const std::string& other) {
  const json::Value* found = body.find(name);
  if (found == nullptr) return;
  json::Value value = *found;
  body.as_object()->erase(name);
  body.set(other, std::move(value));
}

}  // namespace

std::string request_body(Request request, const Endpoint& endpoint, const ChatManners& manners) {
  request.messages = wire::well_ordered(std::move(request.messages));
  std::vector<std::optional<std::string>> thoughts;
  if (manners.wants_reasoning) thoughts = thoughts_of(request.messages);
  for (Message& message : request.messages) message.provider_data.clear();  // opaque to the server
  // A client's own wish about streaming concerns its answer, not this call.
  request.extra.erase("stream");
  request.extra.erase("stream_options");
  // Tools are written straight into the text: as values their schemas, by far the largest part, would be copied for every call.
  const std::vector<ToolSpec> tools = std::exchange(request.tools, {});
  if (!tools.empty()) request.tools.emplace_back();  // what depends on there being tools stays
  json::Value body = to_json(request);
  if (!tools.empty()) body.as_object()->erase("tools");
  for (size_t i = 0; i < thoughts.size(); ++i) {
    if (thoughts[i])
      (*body.find("messages")->as_array())[i].set("reasoning_content", std::move(*thoughts[i]));
  }
  // OpenAI's reasoning models refuse the older name; other servers often know only that one.
  if (endpoint.is_openai) rename(body, "max_tokens", "max_completion_tokens");
  for (const auto& [name, other] : manners.renamed_params) rename(body, name, other);
  body.set("stream", true);
  if (manners.stream_options) body.set("stream_options", json::Value::object({{"include_usage", true}}));
  std::string text = json::write(body);
  if (tools.empty()) return text;
  text.pop_back();
  text += ",\"tools\":";
  write_tools_to(text, tools);
  return text + "}";
}

}  // namespace chela::llm::openai
