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
  return crypto::content_hash(json::canonical(llm::to_json(request)));
}

std::string tools_to_text(const std::vector<llm::ToolSpec>& tools) {
  json::Array list;
  for (const llm::ToolSpec& tool : tools) {
    list.push_back(json::Value::object(
        {{"name", tool.name}, {"description", tool.description}, {"parameters", tool.parameters}}));
  }
  return json::write(list);
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
