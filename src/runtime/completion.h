#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::runtime {

// Bridges callbacks to coroutines: somebody calls resolve() once, from any thread; one coroutine awaits the value.
// The coroutine always resumes through loop.post(), never inside resolve(). Later resolve() calls are ignored (they return false), which
// is how a result that comes after a cancellation is dropped. Copies share the state.
template <class T>
class Completion {
 public:
  explicit Completion(EventLoop& loop) : state_(std::make_shared<State>(loop)) {}

  bool resolve(T value) const {
    std::coroutine_handle<> waiter;
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->resolved) return false;
      state_->resolved = true;
      state_->value.emplace(std::move(value));
      waiter = std::exchange(state_->waiter, {});
    }
    if (waiter) state_->loop.post([state = state_, waiter] { waiter.resume(); });
    return true;
  }

  bool resolved() const {
    const std::lock_guard lock(state_->mutex);
    return state_->resolved;
  }

  auto operator co_await() const {
    struct Awaiter {
      std::shared_ptr<State> state;
      bool await_ready() const { return false; }
      bool await_suspend(std::coroutine_handle<> awaiter) {
        const std::lock_guard lock(state->mutex);
        if (state->resolved) return false;
        state->waiter = awaiter;
        return true;
      }
      T await_resume() { return std::move(*state->value); }
    };
    return Awaiter{state_};
  }

 private:
  struct State {
    explicit State(EventLoop& l) : loop(l) {}
    EventLoop& loop;
    std::mutex mutex;
    bool resolved = false;
    std::optional<T> value;
    std::coroutine_handle<> waiter;
  };
  std::shared_ptr<State> state_;
};

}  // namespace chela::runtime
