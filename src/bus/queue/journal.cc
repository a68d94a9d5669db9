#include "bus/queue/journal.h"

#include <set>

#include "obs/log.h"

namespace chela::bus::queue {

Journal::~Journal() {
  if (timer_) loop_.cancel(*timer_);
}

Task<Result<>> Journal::commit(Changes changes) {
  if (closed_) co_return fail(Code::kUnavailable, "the engine stops");
  if (!records_ || changes.empty()) co_return Result<>{};
  for (const store::RecordChange& change : changes) lazy_.erase({.space = change.space, .key = change.key});
  const runtime::Completion<Result<>> done(loop_);
  waiting_.push_back({.changes = std::move(changes), .done = done});
  if (gathering_ && waiting_.size() >= served_) gathering_->resolve(true);
  start_writing();
  co_return co_await done;
}

void Journal::later(store::RecordChange change) {
  if (!records_ || closed_) return;
  lazy_.insert_or_assign({.space = std::move(change.space), .key = std::move(change.key)},
                         std::move(change.value));
  if (lazy_.size() >= kMaxLazyChanges && !failing_) {
    lazy_due_ = true;
    start_writing();
  } else {
    write_soon(kLazyDelay);
  }
}

void Journal::write_soon(std::chrono::milliseconds delay) {
  if (timer_ || writing_) return;
  timer_ = loop_.call_at(loop_.clock().steady() + delay, [this] {
    timer_.reset();
    lazy_due_ = true;
    start_writing();
  });
}

void Journal::start_writing() {
  if (std::exchange(writing_, true)) return;
  tasks_.spawn(write_all());
}

Task<> Journal::write_all() {
  while (!waiting_.empty() || (lazy_due_ && !lazy_.empty())) {
    if (!waiting_.empty()) co_await gather();
    if (const Result<> written = co_await write_batch(); !written && !lazy_.empty()) {
      // Somebody who waits tries at once; completions can wait until there is room on the disk.
      lazy_due_ = false;
      if (!waiting_.empty()) continue;
      writing_ = false;
      if (!closed_) write_soon(kJournalRetry);
      co_return;
    }
  }
  lazy_due_ = false;
  writing_ = false;
  if (!lazy_.empty() && !closed_) write_soon(kLazyDelay);
}

// Those who come back with the answer to their last message come one after the other. Would the first take the next commit for himself, the
// others waited for one more: two syncs of the disk a round instead of one.
Task<> Journal::gather() {
  const SteadyTime until = served_at_ + took_ / kGatherShare;
  const runtime::Completion<bool> all(loop_);
  std::optional<runtime::TimerId> timer;
  if (waiting_.size() < served_ && loop_.clock().steady() < until && !closed_) {
    gathering_ = all;
    timer = loop_.call_at(until, [all] { all.resolve(true); });
  } else {
    loop_.post([all] { all.resolve(true); });  // with what comes in this turn of the loop
  }
  co_await all;
  gathering_.reset();
  if (timer) loop_.cancel(*timer);
}

Journal::Lazy Journal::take_lazy(size_t room) {
  Lazy taken;
  while (!lazy_.empty() && taken.size() < room) taken.insert(lazy_.extract(lazy_.begin()));
  return taken;
}

Task<Result<>> Journal::write_batch() {
  Changes changes;
  size_t batch = 0;
  for (; batch < waiting_.size(); ++batch) {
    Changes& next = waiting_[batch].changes;
    if (batch > 0 && changes.size() + next.size() > kMaxCommitChanges) break;
    changes.insert(changes.end(), std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
  }
  std::vector<Waiting> served(std::make_move_iterator(waiting_.begin()),
                              std::make_move_iterator(waiting_.begin() + static_cast<std::ptrdiff_t>(batch)));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(batch));
  const Lazy riding = take_lazy(kMaxCommitChanges - std::min(changes.size(), kMaxCommitChanges));
  for (const auto& [key, value] : riding)
    changes.push_back({.space = key.space, .key = key.key, .value = value});
  const SteadyTime began = loop_.clock().steady();
  Result<> written = co_await records_->commit(std::move(changes));
  if (batch > 0) {
    served_ = std::min(batch, kMaxGathered);
    served_at_ = loop_.clock().steady();
    took_ = served_at_ - began;
  }
  failing_ = !written;
  if (!written) {
    log::error("bus", "queues cannot be written", {{"error", written.error().message}});
    std::set<store::RecordKey> newer;
    for (const Waiting& each : waiting_) {
      for (const store::RecordChange& change : each.changes)
        newer.insert({.space = change.space, .key = change.key});
    }
    for (const auto& [key, value] : riding) {
      if (!newer.contains(key)) lazy_.try_emplace(key, value);
    }
  }
  for (const Waiting& each : served) each.done.resolve(written);
  co_return written;
}

Task<> Journal::close() {
  closed_ = true;
  if (timer_) loop_.cancel(*timer_);
  timer_.reset();
  co_await tasks_.join();
  if (!records_) co_return;
  lazy_due_ = true;
  start_writing();
  co_await tasks_.join();
  if (!lazy_.empty())
    log::error("bus", "completions of queued messages were not written; they will be handled again",
               {{"records", lazy_.size()}});
  co_await records_->close();
}

}  // namespace chela::bus::queue
