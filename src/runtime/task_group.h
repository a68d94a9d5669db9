#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "base/check.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::runtime {

// Owns running tasks. Its owner awaits join() (or runs the loop until empty()) before it destroys the group.
// Loop thread only.
class TaskGroup {
 public:
  explicit TaskGroup(EventLoop& loop) : loop_(loop) {}
  ~TaskGroup() { CHELA_CHECK(running_ == 0, "a task group was destroyed before join()"); }
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts the task at once; it runs until its first suspension before spawn() returns.
  void spawn(Task<> task) {
    ++running_;
    detail::run(std::move(task), [this] {
      if (--running_ == 0) {
        for (const Completion<bool>& waiter : std::exchange(waiters_, {})) waiter.resolve(true);
      }
    });
  }

  size_t running() const { return running_; }
  bool empty() const { return running_ == 0; }

  // Tasks that take a stop token get this one; stop() asks all of them to end.
  std::stop_token stop_token() const { return source_.get_token(); }
  void stop() { source_.request_stop(); }

  Task<> join() {
    while (running_ > 0) {
      const Completion<bool> done(loop_);
      waiters_.push_back(done);
      co_await done;
    }
  }

 private:
  EventLoop& loop_;
  std::stop_source source_;
  size_t running_ = 0;
  std::vector<Completion<bool>> waiters_;
};

// Runs all tasks concurrently and gives their values in the order of the tasks.
template <class T>
Task<std::vector<T>> gather(EventLoop& loop, std::vector<Task<T>> tasks) {
  std::vector<std::optional<T>> slots(tasks.size());
  size_t left = tasks.size();
  const Completion<bool> done(loop);
  for (size_t i = 0; i < tasks.size(); ++i) {
    detail::run(std::move(tasks[i]), [&slots, &left, &done, i](T value) {
      slots[i].emplace(std::move(value));
      if (--left == 0) done.resolve(true);
    });
  }
  if (!tasks.empty()) co_await done;
  std::vector<T> values;
  values.reserve(slots.size());
  for (std::optional<T>& slot : slots) values.push_back(std::move(*slot));
  co_return values;
}

// Runs the loop on this thread until the task has ended. For main() and tests.
template <class T>
T block_on(EventLoop& loop, Task<T> task) {
  if constexpr (std::is_void_v<T>) {
    bool done = false;
    detail::run(std::move(task), [&done] { done = true; });
    loop.run_until([&done] { return done; });
  } else {
    std::optional<T> value;
    detail::run(std::move(task), [&value](T v) { value.emplace(std::move(v)); });
    loop.run_until([&value] { return value.has_value(); });
    return std::move(*value);
  }
}

}  // namespace chela::runtime
