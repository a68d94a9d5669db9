#pragma once

#include <deque>
#include <optional>
#include <stop_token>

#include "base/result.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::runtime {

// A bounded queue between tasks of one loop: one receiver, any number of senders. Loop thread only.
template <class T>
class Channel {
 public:
  Channel(EventLoop& loop, size_t capacity) : loop_(loop), capacity_(capacity) {}

  // False when the channel is full or closed; the value is then dropped.
  bool try_send(T value) {
    if (closed_ || queue_.size() >= capacity_) return false;
    queue_.push_back(std::move(value));
    wake(receiver_);
    return true;
  }

  // Waits for room. kUnavailable when closed, kCancelled on stop.
  Task<Result<>> send(T value, std::stop_token stop) {
    while (!closed_ && queue_.size() >= capacity_) {
      if (!co_await wait(senders_, stop)) co_return fail(Code::kCancelled, "cancelled");
    }
    if (closed_) co_return fail(Code::kUnavailable, "the channel is closed");
    queue_.push_back(std::move(value));
    wake(receiver_);
    co_return Result<>{};
  }

  // The next value; nothing when the channel is closed and empty, or on stop.
  Task<std::optional<T>> receive(std::stop_token stop) {
    while (queue_.empty()) {
      if (closed_ || !co_await wait(receiver_, stop)) co_return std::nullopt;
    }
    co_return take();
  }

  std::optional<T> try_receive() {
    if (queue_.empty()) return std::nullopt;
    return take();
  }

  // No more values; what is queued can still be received.
  void close() {
    closed_ = true;
    wake(receiver_);
    while (!senders_.empty()) wake(senders_);
  }

  size_t size() const { return queue_.size(); }
  bool closed() const { return closed_; }

 private:
  using Waiters = std::deque<Completion<bool>>;

  std::optional<T> take() {
    std::optional<T> value(std::move(queue_.front()));
    queue_.pop_front();
    wake(senders_);
    return value;
  }

  // Resolves the first waiter that has not been cancelled meanwhile.
  static void wake(Waiters& waiters) {
    while (!waiters.empty()) {
      const Completion<bool> first = waiters.front();
      waiters.pop_front();
      if (first.resolve(true)) return;
    }
  }

  Task<bool> wait(Waiters& waiters, std::stop_token stop) {
    if (stop.stop_requested()) co_return false;
    const Completion<bool> woken(loop_);
    waiters.push_back(woken);
    const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
    co_return co_await woken;
  }

  EventLoop& loop_;
  size_t capacity_;
  std::deque<T> queue_;
  Waiters receiver_;
  Waiters senders_;
  bool closed_ = false;
};

}  // namespace chela::runtime
