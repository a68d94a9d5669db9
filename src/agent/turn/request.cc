#include "agent/turn/request.h"

#include "crypto/hash.h"

namespace chela::agent::turn {

llm::Request build_request(const State& state, const Sources& sources) {
  llm::Request request;
  request.model = state.start.model;
  if (!sources.system.empty())
    request.messages.push_back({.role = llm::Role::kSystem, .content = sources.system});
  if (const std::string note = state.conversation.note(); !note.empty()) {
    request.messages.push_back({.role = llm::Role::kSystem, .content = note});
  }
  for (const Entry& entry : state.conversation.entries()) request.messages.push_back(entry.message);
  // The tools stay listed for a forced final answer: leaving them out would change the prompt's prefix.
  request.tools = sources.tools;
  if (state.final_answer && !request.tools.empty()) request.tool_choice = llm::ToolChoice::kNone;
  request.temperature = state.start.temperature;
  request.max_tokens = state.start.max_tokens;
  return request;
}

std::string request_hash(const llm::Request& request) {
  // The tools, by far the largest part that never changes, are hashed as the text they are stored as.
  llm::Request rest = request;
  rest.tools.clear();
  json::Value value = llm::to_json(rest);
  value.set("tools_hash", crypto::content_hash(tools_to_text(request.tools)));
  value.set("tool_choice", static_cast<int>(request.tool_choice));
  value.set("tool_choice_name", request.tool_choice_name);
  return crypto::content_hash(json::canonical(value));
}

std::string tools_to_text(const std::vector<llm::ToolSpec>& tools) {
  std::string text = "[";
  for (const llm::ToolSpec& tool : tools) {
    if (text.size() > 1) text += ',';
    text += "{\"name\":";
    json::write_string_to(text, tool.name);
    text += ",\"description\":";
    json::write_string_to(text, tool.description);
    text += ",\"parameters\":";
    json::write_to(text, tool.parameters);
    text += '}';
  }
  return text + "]";
}

Result<std::vector<llm::ToolSpec>> tools_from_text(std::string_view text) {
  const auto value = json::parse(text);
  if (!value) return fail(value.error());
  std::vector<llm::ToolSpec> tools;
  if (const json::Array* list = value->as_array()) {
    for (const json::Value& item : *list) {
      const json::Value* parameters = item.find("parameters");
      tools.push_back({item.string_or("name"), item.string_or("description"),
                       parameters != nullptr ? *parameters : json::Value()});
    }
  }
  return tools;
}

}  // namespace chela::agent::turn
