#include "agent/turn/request.h"

#include "agent/dialects/prompted.h"
#include "crypto/hash.h"

namespace chela::agent::turn {
namespace {

void choose_tools(llm::Request& request, const State& state) {
  if (tools_are_off(state)) {
    request.tool_choice = llm::ToolChoice::kNone;
  } else if (state.iteration == 0) {
    request.tool_choice = state.start.tool_choice;
    request.tool_choice_name = state.start.tool_choice_name;
  }
}

// The conversation for a model that is offered its tools in the prompt: the request has none.
void add_prompted(llm::Request& request, const State& state, const Sources& sources) {
  dialects::PromptedMessages messages;
  for (llm::Message& message : request.messages) messages.add(message);
  for (const Entry& entry : state.conversation.entries()) messages.add(entry.message, entry.outcome);
  llm::Request choice;
  // A forced final answer is asked for in the conversation itself.
  if (!sources.tools->specs.empty() && !state.final_answer) choose_tools(choice, state);
  messages.add_choice(choice.tool_choice, choice.tool_choice_name);
  request.messages = messages.take();
  request.sampling.parallel_tool_calls.reset();
}

}  // namespace

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

ToolListPtr make_tool_list(std::vector<llm::ToolSpec> specs) {
  std::string text = tools_to_text(specs);
  std::string hash = crypto::content_hash(text);
  return std::make_shared<const ToolList>(std::move(specs), std::move(text), std::move(hash));
}

Result<ToolListPtr> tool_list_from_text(std::string text) {
  Result<std::vector<llm::ToolSpec>> specs = tools_from_text(text);
  if (!specs) return fail(specs.error());
  std::string hash = crypto::content_hash(text);
  return std::make_shared<const ToolList>(std::move(*specs), std::move(text), std::move(hash));
}

const ToolListPtr& no_tools() {
  static const ToolListPtr none = make_tool_list({});
  return none;
}

// A system prompt that says how tools are called in text holds them already.
std::int64_t prompt_tokens(const Sources& sources, llm::ToolCalling calling) {
  const bool listed = calling == llm::ToolCalling::kNative;
  return estimate_tokens(sources.system) + (listed ? estimate_tokens(sources.tools->text) : 0);
}

llm::Request build_request(const State& state, const Sources& sources) {
  const bool prompted = state.start.tool_calling == llm::ToolCalling::kPrompted;
  llm::Request request;
  request.model = state.start.model;
  if (!sources.system.empty())
    request.messages.push_back({.role = llm::Role::kSystem, .content = sources.system});
  if (const std::string note = state.conversation.note(); !note.empty()) {
    request.messages.push_back({.role = llm::Role::kSystem, .content = note});
  }
  request.sampling = state.start.sampling;
  if (prompted) {
    add_prompted(request, state, sources);
    return request;
  }
  for (const Entry& entry : state.conversation.entries()) request.messages.push_back(entry.message);
  // The tools stay listed for a forced final answer: leaving them out would change the prompt's prefix.
  request.tools = sources.tools->specs;
  if (!request.tools.empty()) choose_tools(request, state);
  return request;
}

std::string request_hash(const llm::Request& request, std::string_view tools_hash) {
  llm::Request rest = request;
  rest.tools.clear();
  json::Value value = llm::to_json(rest);
  value.set("tools_hash", tools_hash);
  value.set("tool_choice", static_cast<int>(request.tool_choice));
  value.set("tool_choice_name", request.tool_choice_name);
  // Left out of `rest`, which has no tools.
  if (request.sampling.parallel_tool_calls)
    value.set("parallel_tool_calls", *request.sampling.parallel_tool_calls);
  return crypto::content_hash(json::canonical(value));
}

}  // namespace chela::agent::turn
