#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/dialects/outcome.h"
#include "llm/provider.h"

// Tools for a model whose protocol has none: described in its prompt, called in its text, answered in the text of a user. The same
// bytes for the same conversation, so that a prompt's beginning stays what it was.
namespace chela::agent::dialects {

// The section of the system prompt that says which tools there are and how they are called; "" without tools.
std::string tool_instructions(const std::vector<llm::ToolSpec>& tools);

// Puts the messages of a conversation into a request of that form, in their order.
class PromptedMessages {
 public:
  // `outcome` counts for results of tools.
  void add(const llm::Message& message, Outcome outcome = Outcome::kOk);
  // What the model is to do with its tools now. Not a part of the conversation: the next request does not hold it.
  void add_choice(llm::ToolChoice choice, const std::string& name);
  std::vector<llm::Message> take() { return std::move(messages_); }

 private:
  std::vector<llm::Message> messages_;
  bool begun_ = false;    // something has been said
  bool results_ = false;  // the last message holds results, which more may join
};

// A client's request for a model without tools of its own: its tools stand in the system prompt, calls and results as text.
llm::Request prompted(llm::Request request);

}  // namespace chela::agent::dialects
