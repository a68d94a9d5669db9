#include "api/openai_commands.h"

#include <optional>

#include "agent/commands/parse.h"
#include "agent/turn/notes.h"
#include "agent/turn/turn_stack.h"

namespace chela::api {
namespace {

using agent::commands::Verb;
using llm::Message;
using llm::Role;

// The conversation as exchanges: what a person said, and all that came of it.
struct Exchange {
  std::vector<Message> messages;
  bool interrupted = false;
};
using Exchanges = agent::turn::TurnStack<Exchange>;

// What a command did, as its answer says.
void repeat(Exchanges& exchanges, Verb verb, std::string_view answer) {
  if (verb == Verb::kUndo && answer.starts_with("Undone")) exchanges.undo();
  if (verb == Verb::kRedo && answer.starts_with("Redone")) exchanges.redo();
  if (verb == Verb::kInterrupt && answer.starts_with("Interrupted") && !exchanges.empty())
    exchanges.back().interrupted = true;
  if (verb == Verb::kClear || verb == Verb::kNew) exchanges.clear();
}

// True for a command that is no part of the conversation. Answers to questions are.
bool is_command(const Message& said, const Message& answer, Exchanges& exchanges) {
  if (said.role != Role::kUser || answer.role != Role::kAssistant || !answer.tool_calls.empty()) return false;
  const agent::commands::Parsed parsed = agent::commands::parse(said.content);
  if (std::holds_alternative<agent::commands::Mistake>(parsed)) return true;
  const auto* command = std::get_if<agent::commands::Command>(&parsed);
  if (command == nullptr || command->verb == Verb::kApprove || command->verb == Verb::kAlways ||
      command->verb == Verb::kDeny)
    return false;
  repeat(exchanges, command->verb, answer.content);
  return true;
}

// A message after an answer, unless the answer is a question: what is said to that belongs to the turn that asked.
bool begins_exchange(const Message& message, Exchanges& exchanges) {
  if (exchanges.empty()) return true;
  const Message& last = exchanges.back().messages.back();
  if (message.role != Role::kUser || last.role != Role::kAssistant) return false;
  return exchanges.back().interrupted || !agent::turn::ends_with_question(last.content);
}

}  // namespace

std::vector<Message> without_commands(std::vector<Message> messages) {
  Exchanges exchanges;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (i + 1 < messages.size() && is_command(messages[i], messages[i + 1], exchanges)) {
      ++i;
    } else if (begins_exchange(messages[i], exchanges)) {
      exchanges.push({.messages = {std::move(messages[i])}});
    } else {
      exchanges.back().messages.push_back(std::move(messages[i]));
    }
  }
  std::vector<Message> out;
  for (Exchange& exchange : exchanges.take()) {
    for (Message& message : exchange.messages) out.push_back(std::move(message));
  }
  return out;
}

}  // namespace chela::api
