#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/turn_log_store.h"

namespace chela::agent {

// The newest turns of a thread's log that can be seen: without those undone or cleared.
struct LogEnd {
  std::vector<store::LogRecord> records;  // of these turns, oldest first
  bool has_more = false;                  // turns before these
  std::int64_t pos = 0;                   // of the newest record that was read, of whatever kind
};

// Reads the last `turns` turns of a thread whose newest record is `last_seq`, those that began before `before` when it is given, from the end
// in pages of kHistoryPage records: what it costs depends on how far back it looks, not on the log's length. What a fork inherited comes from
// the thread it was made from.
Task<Result<LogEnd>> read_last_turns(store::TurnLogStore& log, Scope scope, std::string thread,
                                     std::int64_t last_seq, std::size_t turns, std::optional<UnixMs> before);

}  // namespace chela::agent
