#pragma once

#include <deque>
#include <utility>

#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::runtime {

// Lets one task at a time through, in the order they came. Loop thread only.
class Mutex {
 public:
  explicit Mutex(EventLoop& loop) : loop_(loop) {}

  class Guard {
   public:
    explicit Guard(Mutex* mutex) : mutex_(mutex) {}
    Guard(Guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard() { unlock(); }
    void unlock() {
      if (mutex_ != nullptr) std::exchange(mutex_, nullptr)->release();
    }

   private:
    Mutex* mutex_;
  };

  Task<Guard> lock() {
    if (std::exchange(locked_, true)) {
      const Completion<bool> turn(loop_);
      waiting_.push_back(turn);
      co_await turn;  // release() hands the lock over without opening it
    }
    co_return Guard(this);
  }

  bool locked() const { return locked_; }
  size_t waiting() const { return waiting_.size(); }

 private:
  void release() {
    if (waiting_.empty()) {
      locked_ = false;
      return;
    }
    const Completion<bool> next = waiting_.front();
    waiting_.pop_front();
    next.resolve(true);
  }

  EventLoop& loop_;
  bool locked_ = false;
  std::deque<Completion<bool>> waiting_;
};

// Lets at most `permits` tasks through at once. Loop thread only.
class Semaphore {
 public:
  Semaphore(EventLoop& loop, size_t permits) : loop_(loop), free_(permits) {}

  Task<> acquire() {
    if (free_ > 0) {
      --free_;
      co_return;
    }
    const Completion<bool> turn(loop_);
    waiting_.push_back(turn);
    co_await turn;
  }

  void release() {
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    const Completion<bool> next = waiting_.front();
    waiting_.pop_front();
    next.resolve(true);
  }

 private:
  EventLoop& loop_;
  size_t free_;
  std::deque<Completion<bool>> waiting_;
};

}  // namespace chela::runtime
