#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "agent/commands/table.h"

namespace chela::agent::commands {

// Something that is said to the agent.
struct UserText {};

struct Command {
  Verb verb = Verb::kHelp;
  std::string argument = {};  // trimmed, as it was written
};

// A slash word that is none of ours, or one of ours with an argument it does not take: `reply` says so and what to write instead.
struct Mistake {
  std::string reply;
  enum class Kind { kUnknown, kArgument } kind = Kind::kUnknown;
};

// A decision about one request, as clients write it: {"ExecApproval": {"request_id", "approved", "always"}}.
struct ExecApproval {
  std::string request_id;
  Decision decision = Decision::kDeny;
};

using Parsed = std::variant<UserText, Command, Mistake, ExecApproval>;

// What a message is. Case and white space around it do not matter. A slash word is '/' and then letters, digits, '-', '_' or '?' up to
// a space or the end: "/etc/passwd" is text.
Parsed parse(std::string_view text);

// The answer to a question that a text is; it is one only while a question is asked.
std::optional<Decision> spoken_decision(std::string_view text);

}  // namespace chela::agent::commands
