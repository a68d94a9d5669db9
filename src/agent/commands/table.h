#pragma once

#include <span>
#include <string>
#include <string_view>

#include "agent/turn/decision.h"

// The words that steer a conversation instead of being said to the agent. The parser, /help, the completion lists of clients and the
// tests read this one table.
namespace chela::agent::commands {

enum class Verb {
  kHelp,
  kNew,
  kThread,
  kUndo,
  kRedo,
  kCompact,
  kSummarize,
  kClear,
  kInterrupt,
  kModel,
  kStatus,
  kTools,
  kVersion,
  kPing,
  kQuit,
  kApprove,
  kAlways,
  kDeny,
};

enum class Takes { kNothing, kOptional };

struct Spec {
  Verb verb;
  std::span<const std::string_view> words;  // lower case, the first is its name
  Takes takes = Takes::kNothing;
  std::string_view argument = {};  // what it is called in help, "" when it takes nothing
  std::string_view help;
};

std::span<const Spec> table();

// Words without a slash that answer a question while one is asked.
struct SpokenDecision {
  std::string_view word;
  Decision decision;
};
std::span<const SpokenDecision> spoken_decisions();

// "/thread [ID]"
std::string usage(const Spec& spec);

// The table as text for people, one command a line.
std::string help_text();

}  // namespace chela::agent::commands
