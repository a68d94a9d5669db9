#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llm/provider.h"

namespace chela::agent::turn {

// One message of the conversation. `number` counts all messages the thread ever had, so that a compaction can name them.
struct Entry {
  std::int64_t number = 0;
  std::int64_t turn = 0;
  llm::Message message;
};

// Which messages leave the prompt. They stay in the log.
struct CompactionPlan {
  std::int64_t drop_below = 0;        // entries with smaller numbers go
  std::vector<std::int64_t> shorten;  // tool results that are replaced by a note
  std::int64_t tokens_before = 0;
  std::int64_t tokens_after = 0;

  bool operator==(const CompactionPlan&) const = default;
};

// The messages of a thread as they are sent to a model: append-only, except for compaction, so that the prompt's prefix stays
// byte-identical from turn to turn.
class Conversation {
 public:
  void append(std::int64_t turn, llm::Message message);
  void apply(const CompactionPlan& plan);

  const std::vector<Entry>& entries() const { return entries_; }
  // Says in one line what was dropped; "" when nothing was.
  std::string note() const;
  // Estimate: one token for four bytes, four for each message.
  std::int64_t tokens() const { return tokens_; }

 private:
  std::vector<Entry> entries_;
  std::int64_t next_ = 0;
  std::int64_t dropped_turns_ = 0;  // turns 0 .. dropped_turns_-1 are wholly or partly gone
  std::int64_t tokens_ = 0;
};

std::int64_t estimate_tokens(const llm::Message& message);
std::int64_t estimate_tokens(std::string_view text);

// The plain policy: drop the oldest whole turns, keeping at least the current one; when that is not enough, shorten the oldest tool
// results of the current turn. Nothing when the conversation fits `target` tokens or nothing can be dropped.
std::optional<CompactionPlan> plan_compaction(const Conversation& conversation, std::int64_t current_turn,
                                              std::int64_t target);

}  // namespace chela::agent::turn
