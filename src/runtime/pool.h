#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::runtime {

// Threads for work that blocks: databases, file walks, embedding math. The queue is bounded; threads start on first use.
// Owned by app/; the destructor finishes what is queued and joins.
class Pool {
 public:
  Pool(EventLoop& loop, size_t threads, size_t max_queue = kMaxPoolQueue);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Runs `work` on a pool thread and gives its value on the loop. `work` must not touch loop state; long work looks at a stop token
  // itself. Returns the work's own Result, or kUnavailable when the queue is full.
  template <class Work>
  auto run(Work work) -> Task<std::invoke_result_t<Work>> {
    using R = std::invoke_result_t<Work>;  // a Result<...>
    const Completion<R> done(loop_);
    const bool queued = submit([done, work = std::move(work)]() mutable { done.resolve(work()); });
    if (!queued) co_return R(fail(Code::kUnavailable, "too much blocking work is queued; try again shortly"));
    co_return co_await done;
  }

  // False when the queue is full. Thread-safe.
  bool submit(Callback work);

 private:
  void work_loop();

  EventLoop& loop_;
  const size_t max_threads_;
  const size_t max_queue_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Callback> queue_;
  size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace chela::runtime
