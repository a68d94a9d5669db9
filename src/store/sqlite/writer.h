#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"
#include "store/sqlite/group_commit.h"
#include "store/turn_log_store.h"

namespace chela::store::sqlite {

struct WriterOptions {
  size_t max_queue = kMaxWriteQueue;
  size_t max_queue_bytes = kMaxWriteQueueBytes;
  size_t max_group = kMaxGroupCommit;
  int checkpoint_pages = kCheckpointPages;
};

// The one writer of a database. Writes made in one turn of the loop reach the writer's thread together, one group is one
// transaction, and while it is being committed the next group gathers. Order is that of the calls. Lives on the loop thread (all
// methods); the destructor commits what is queued and joins the thread. A database in memory has no thread: its groups run on the loop.
class Writer {
 public:
  enum class Runs { kOnThread, kOnLoop };

  Writer(runtime::EventLoop& loop, GroupCommit commit, Runs runs, WriterOptions options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Queues `work` (Connection& -> Result<T>) at once, before the task is awaited, and gives its value when its group is committed. `bytes`
  // is about how much memory the work holds. kUnavailable when the queue is full, the group's error when the commit fails.
  template <class Work>
  auto write(Durability durability, size_t bytes, Work work) -> Task<std::invoke_result_t<Work, Connection&>>;

  // For jobs that nobody waits for.
  Result<> submit(std::unique_ptr<Job> job, Durability durability);

  // Lazy writes that are queued do not wait any longer.
  void commit_soon();

  // Only when the writer runs on the loop: reads of a database in memory use its connection.
  Connection& connection_on_loop();

 private:
  struct Core;
  template <class R, class Work>
  class Call;
  template <class R>
  static Task<R> wait(runtime::Completion<R> done) {
    co_return co_await done;
  }

  runtime::EventLoop& loop_;
  std::shared_ptr<Core> core_;
};

template <class R, class Work>
class Writer::Call final : public Job {
 public:
  Call(size_t bytes, Work work, runtime::Completion<R> done)
      : Job(bytes), work_(std::move(work)), done_(std::move(done)) {}

  Result<> run(Connection& db) override {
    outcome_.emplace(work_(db));
    if (*outcome_) return {};
    return chela::fail(outcome_->error());
  }
  void fail(const Error& error) override { outcome_.emplace(std::unexpect, error); }
  void finish() override { done_.resolve(std::move(*outcome_)); }

 private:
  Work work_;
  runtime::Completion<R> done_;
  std::optional<R> outcome_;
};

template <class Work>
auto Writer::write(Durability durability, size_t bytes, Work work)
    -> Task<std::invoke_result_t<Work, Connection&>> {
  using R = std::invoke_result_t<Work, Connection&>;
  const runtime::Completion<R> done(loop_);
  Result<> queued = submit(std::make_unique<Call<R, Work>>(bytes, std::move(work), done), durability);
  if (!queued) done.resolve(R(std::unexpect, std::move(queued.error())));
  return wait(done);
}

}  // namespace chela::store::sqlite
