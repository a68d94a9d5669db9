#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/provider.h"

namespace chela::llm::wire {

// The conversation in the order that providers insist on: each tool message follows the assistant message that announced its id,
// and each announced call has a result. What compaction, a crash or a client left over becomes user text, what is missing a placeholder.
std::vector<Message> well_ordered(std::vector<Message> messages);

// Calls and results of tools as plain text, for servers that take neither: some at all, some in a request without tools.
std::vector<Message> without_tool_messages(std::vector<Message> messages);
bool has_tool_messages(const std::vector<Message>& messages);

// A piece of a turn, in the order in which it is said.
struct Part {
  enum class Kind { kText, kImage, kCall, kResult };
  Kind kind = Kind::kText;
  std::string text = {};  // or the result
  Image image = {};
  ToolCall call = {};     // of a result: whose it is
  bool is_error = false;  // the result is one that says {"is_error": true}
};

// What one side says before the other does.
struct Turn {
  Role role = Role::kUser;  // or kAssistant
  std::vector<Part> parts = {};
  std::string provider_data = {};  // of an assistant that was one message
};

// Whether servers refuse the text as a part of its own: it has white space only, as models like to write it before calls.
bool is_blank(std::string_view text);

// The conversation as protocols want it that know two sides only, which take turns: the system's words before it apart, those in the midst of
// it as the user's; results of tools are said by the user; neighbours of one side are one turn; the user begins. No turn is empty,
// no text blank.
struct Turns {
  std::string system;
  std::vector<Turn> turns;
};
Turns as_turns(std::vector<Message> messages);

// The arguments of a call as an object: {} where they are none, for protocols that take no text.
json::Value arguments_object(const ToolCall& call);

}  // namespace chela::llm::wire
