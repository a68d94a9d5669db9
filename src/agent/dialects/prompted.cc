#include "agent/dialects/prompted.h"

#include <map>

#include "base/json.h"
#include "base/strings.h"

namespace chela::agent::dialects {
namespace {

constexpr std::string_view kOpen = "\u25C1";
constexpr std::string_view kClose = "\u25B7";

constexpr std::string_view kProtocol =
    "## Tool Use Protocol\n\n"
    "To use a tool, write one JSON object between the marks \u25C1 and \u25B7, not in a code block:\n\n"
    "```\n"
    "\u25C1\n"
    "{\"name\": \"tool_name\", \"arguments\": {\"parameter\": \"value\"}}\n"
    "\u25B7\n"
    "```\n\n"
    "Several tools may be used in one answer, each between marks of its own. Then stop: the results come in "
    "the next message, "
    "under [Tool results]. Never write results yourself. Without tools, answer in plain text.\n\n"
    "### Available Tools\n";

constexpr std::string_view kResults = "[Tool results]\n";

// The arguments as one JSON value: a text that is none stands as a string.
std::string arguments_of(const llm::ToolCall& call) {
  if (json::parse(call.arguments)) return std::string(strings::trim(call.arguments));
  std::string quoted;
  json::write_string_to(quoted, call.arguments);
  return quoted;
}

std::string call_text(const llm::ToolCall& call) {
  std::string text(kOpen);
  text += "\n{\"name\": ";
  json::write_string_to(text, call.name);
  text += ", \"arguments\": " + arguments_of(call) + "}\n";
  text += kClose;
  return text;
}

// What a tool said must not end its block.
std::string result_text(const llm::Message& message, Outcome outcome) {
  return fmt::format("<tool_result name=\"{}\" status=\"{}\">\n{}\n</tool_result>\n",
                     strings::replace_all(message.name, "\"", "'"), outcome == Outcome::kOk ? "ok" : "error",
                     strings::replace_all(message.content, "</tool_result>", "<\\/tool_result>"));
}

}  // namespace

std::string tool_instructions(const std::vector<llm::ToolSpec>& tools) {
  if (tools.empty()) return {};
  std::string text(kProtocol);
  for (const llm::ToolSpec& tool : tools) {
    text += fmt::format("\n**{}**: {}\nParameters: `", tool.name, tool.description);
    json::write_to(text, tool.parameters);
    text += "`\n";
  }
  return text;
}

void PromptedMessages::add(const llm::Message& message, Outcome outcome) {
  const bool joins = std::exchange(results_, message.role == llm::Role::kTool);
  switch (message.role) {
    case llm::Role::kTool:
      if (!joins) messages_.push_back({.role = llm::Role::kUser, .content = std::string(kResults)});
      messages_.back().content += result_text(message, outcome);
      break;
    case llm::Role::kSystem:
      // Many templates know system messages only in front.
      messages_.push_back(
          {.role = begun_ ? llm::Role::kUser : llm::Role::kSystem, .content = message.content});
      return;
    case llm::Role::kAssistant: {
      llm::Message said{.role = llm::Role::kAssistant, .content = message.content};
      for (const llm::ToolCall& call : message.tool_calls) {
        if (!said.content.empty()) said.content += "\n";
        said.content += call_text(call);
      }
      messages_.push_back(std::move(said));
      break;
    }
    case llm::Role::kUser:
      messages_.push_back(message);
      break;
  }
  begun_ = true;
}

void PromptedMessages::add_choice(llm::ToolChoice choice, const std::string& name) {
  if (!name.empty()) {
    messages_.push_back(
        {.role = llm::Role::kUser, .content = fmt::format("Answer with a call of the tool {}.", name)});
  } else if (choice == llm::ToolChoice::kRequired) {
    messages_.push_back({.role = llm::Role::kUser, .content = "Answer with a call of a tool."});
  } else if (choice == llm::ToolChoice::kNone) {
    messages_.push_back(
        {.role = llm::Role::kUser, .content = "Answer in plain text, without calling tools."});
  }
}

llm::Request prompted(llm::Request request) {
  PromptedMessages messages;
  const std::string instructions = tool_instructions(request.tools);
  if (!instructions.empty()) {
    if (request.messages.empty() || request.messages.front().role != llm::Role::kSystem)
      request.messages.insert(request.messages.begin(), llm::Message{.role = llm::Role::kSystem});
    std::string& system = request.messages.front().content;
    if (!system.empty()) system += "\n\n---\n\n";
    system += instructions;
  }
  std::map<std::string, std::string> called;  // names by ids: not every protocol names the tool of a result
  for (llm::Message& each : request.messages) {
    for (const llm::ToolCall& call : each.tool_calls) called[call.id] = call.name;
    if (each.role == llm::Role::kTool && each.name.empty()) each.name = called[each.tool_call_id];
    messages.add(each);
  }
  if (!request.tools.empty()) messages.add_choice(request.tool_choice, request.tool_choice_name);
  request.messages = messages.take();
  request.tools.clear();
  request.tool_choice = llm::ToolChoice::kAuto;
  request.tool_choice_name.clear();
  request.sampling.parallel_tool_calls.reset();
  return request;
}

}  // namespace chela::agent::dialects
