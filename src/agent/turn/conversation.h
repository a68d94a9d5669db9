#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/dialects/outcome.h"
#include "llm/provider.h"

namespace chela::agent::turn {

// The "turn" of messages that a client's conversation brought with it.
inline constexpr std::int64_t kClientHistory = -1;

// How a tool's call went; other messages have none.
using dialects::Outcome;

// One message of the conversation. `number` counts all messages the thread ever had, so that a compaction can name them.
struct Entry {
  std::int64_t number = 0;
  std::int64_t turn = 0;  // kClientHistory: before the first
  llm::Message message;
  Outcome outcome = Outcome::kOk;
};

// Which messages leave the prompt. They stay in the log.
struct CompactionPlan {
  std::int64_t drop_below = 0;        // entries with smaller numbers go
  std::vector<std::int64_t> shorten;  // tool results that are replaced by a note
  std::int64_t tokens_before = 0;
  std::int64_t tokens_after = 0;
  std::string summary = {};  // stands for all that is left out from now on; "" leaves an earlier one as it is

  bool operator==(const CompactionPlan&) const = default;
};

// The messages of a thread as they are sent to a model: append-only, except for compaction, so that the prompt's prefix stays
// byte-identical from turn to turn.
class Conversation {
 public:
  void append(std::int64_t turn, llm::Message message, Outcome outcome = Outcome::kOk);
  void apply(const CompactionPlan& plan);

  // What is left of the messages of a turn, the last one, and what had been left out when it was taken off.
  struct Turn {
    std::vector<Entry> entries;
    std::int64_t dropped_turns = 0;
  };
  Turn take_off(std::int64_t turn);
  void put_back(Turn turn);
  void clear();

  const std::vector<Entry>& entries() const { return entries_; }
  // Says what was left out, with its summary where there is one; "" when nothing was.
  std::string note() const;
  // Turns before this number are wholly or partly left out.
  std::int64_t dropped_turns() const { return dropped_turns_; }
  // Estimate: one token for four bytes, four for each message.
  std::int64_t tokens() const { return tokens_; }

 private:
  std::vector<Entry> entries_;
  std::int64_t next_ = 0;
  std::int64_t dropped_turns_ = 0;  // turns 0 .. dropped_turns_-1 are wholly or partly gone
  bool dropped_history_ = false;    // so is what the client had brought with it
  std::int64_t tokens_ = 0;
  std::string summary_;
};

std::int64_t estimate_tokens(const llm::Message& message);
std::int64_t estimate_tokens(std::string_view text);

// The plain policy: drop the oldest whole turns, keeping at least the current one; when that is not enough, shorten the oldest tool
// results of the current turn. `prompt_tokens` go beside the conversation in every request and are counted with it. Nothing when
// all fits `target` tokens or nothing can be dropped.
std::optional<CompactionPlan> plan_compaction(const Conversation& conversation, std::int64_t current_turn,
                                              std::int64_t target, std::int64_t prompt_tokens);

}  // namespace chela::agent::turn
