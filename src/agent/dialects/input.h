#pragma once

#include <algorithm>
#include <coroutine>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "agent/dialects/limits.h"

namespace chela::agent::dialects {

// Whether more bytes may come behind those that are there.
enum class More { kMayCome, kNone };

// What a reader waits for. It is asked again when more bytes came and remembers how far it looked, so that each byte is looked at
// once. Offsets count from the start of the view, which does not move while somebody waits.
class Wait {
 public:
  virtual ~Wait() = default;
  // True when the bytes decide. With kNone it must be true.
  virtual bool decide(std::string_view view, More more) = 0;
};

// The bytes that are not consumed yet, and the one coroutine that reads them: it waits here until what it asked for is decided.
class Input {
 public:
  void feed(std::string_view piece) {
    if (drowned_) return;
    if (start_ == data_.size()) {
      data_.clear();
      start_ = 0;
    } else if (start_ >= kMaxPieceBytes) {
      data_.erase(0, start_);
      start_ = 0;
    }
    data_ += piece;
    drive();
  }
  void end() {
    ended_ = true;
    drive();
  }

  // At most the largest call that is read: how the text is cut must not change what happens at that limit.
  std::string_view view() const { return std::string_view(data_).substr(start_, kMaxCallBytes); }
  void consume(size_t n) { start_ += n; }

  // The view is as large as it gets, and there is more.
  bool full() const { return data_.size() - start_ > kMaxCallBytes; }
  // Whether the end of the bytes decided a wait since the last look_ahead().
  bool ran_out() const { return ran_out_; }
  void look_ahead() { ran_out_ = false; }
  // Forgets what is there and all that comes.
  void drown() {
    drowned_ = true;
    std::string().swap(data_);
    start_ = 0;
  }

  // co_await input.until(wait)
  auto until(Wait& wait) {
    struct Awaiter {
      Input& input;
      Wait& wait;
      bool await_ready() { return input.decided(wait); }
      void await_suspend(std::coroutine_handle<> self) {
        input.wait_ = &wait;
        input.waiting_ = self;
      }
      void await_resume() {}
    };
    return Awaiter{*this, wait};
  }

 private:
  bool decided(Wait& wait) {
    if (wait.decide(view(), More::kMayCome)) return true;
    if (!ended_ && !full()) return false;
    if (!full()) ran_out_ = true;
    return wait.decide(view(), More::kNone);
  }
  void drive() {
    while (wait_ != nullptr && decided(*wait_)) {
      wait_ = nullptr;
      std::exchange(waiting_, {}).resume();
    }
  }

  std::string data_;
  size_t start_ = 0;
  bool ended_ = false;
  bool drowned_ = false;
  bool ran_out_ = false;
  Wait* wait_ = nullptr;  // lives in the frame of the coroutine
  std::coroutine_handle<> waiting_;
};

// The coroutine that reads an Input to its end. Destroying it ends it wherever it waits, with all that it awaits.
class Script {
 public:
  struct promise_type {
    Script get_return_object() { return Script(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { std::terminate(); }
  };

  explicit Script(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Script(Script&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Script& operator=(Script&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Script() {
    if (handle_) handle_.destroy();
  }
  void start() { handle_.resume(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace chela::agent::dialects
