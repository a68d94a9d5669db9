#include "agent/log_end.h"

#include <algorithm>

#include "agent/turn/records.h"
#include "base/limits.h"

namespace chela::agent {
namespace {

using store::LogRecord;

// Takes records from the newest to the oldest and keeps those of visible turns.
class Backwards {
 public:
  Backwards(std::size_t turns, std::optional<UnixMs> before) : turns_(turns), before_(before) {}

  // False: nothing older is wanted.
  bool take(LogRecord record) {
    if (record.kind == "Cleared") return false;  // what was before it is not seen any more
    if (record.kind == "Undone") ++hidden_;
    if (record.kind == "Redone") --hidden_;
    const bool starts = record.kind == "TurnStarted";
    const UnixMs at = record.at;
    turn_.push_back(std::move(record));
    return !starts || end_turn(at);
  }

  LogEnd finish() {
    std::reverse(end_.records.begin(), end_.records.end());
    return std::move(end_);
  }

 private:
  // The turn whose records are at hand began with the last of them, `at`.
  bool end_turn(UnixMs at) {
    std::vector<LogRecord> turn = std::exchange(turn_, {});
    if (hidden_ > 0) {
      --hidden_;
    } else if (!before_ || at < *before_) {
      if (found_++ == turns_) {
        end_.has_more = true;
        return false;
      }
      std::move(turn.begin(), turn.end(), std::back_inserter(end_.records));
    }
    return true;
  }

  const std::size_t turns_;
  const std::optional<UnixMs> before_;
  LogEnd end_;
  std::vector<LogRecord> turn_;  // newest first
  std::size_t found_ = 0;
  int hidden_ = 0;  // how many turns from here back are undone
};

}  // namespace

Task<Result<LogEnd>> read_last_turns(store::TurnLogStore& log, Scope scope, std::string thread,
                                     std::int64_t last_seq, std::size_t turns, std::optional<UnixMs> before) {
  Backwards backwards(turns, before);
  std::int64_t pos = 0;
  bool more = true;
  for (int depth = 0; more && last_seq > 0; ++depth) {
    if (depth > kMaxForkDepth)
      co_return fail(Code::kUnprocessable, "the thread was forked more than {} times", kMaxForkDepth);
    std::int64_t below = last_seq + 1;
    last_seq = 0;
    while (more && below > 1) {
      Result<std::vector<LogRecord>> page = co_await log.read_thread_back(scope, thread, below, kHistoryPage);
      if (!page) co_return fail(page.error());
      if (page->empty()) break;
      pos = std::max(pos, page->front().pos);
      below = page->back().seq;
      if (below == 1 && page->back().kind == "Forked") {
        const Result<turn::Input> input = turn::from_body("Forked", page->back().body);
        if (!input) co_return fail(input.error());
        thread = std::get<turn::Forked>(*input).from;
        last_seq = std::get<turn::Forked>(*input).at;
      }
      for (LogRecord& record : *page) {
        more = backwards.take(std::move(record));
        if (!more) break;
      }
    }
  }
  LogEnd end = backwards.finish();
  end.pos = pos;
  co_return end;
}

}  // namespace chela::agent
