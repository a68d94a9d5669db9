#pragma once

#include <optional>
#include <stop_token>

#include "base/result.h"
#include "runtime/event_loop.h"

namespace chela::runtime {

// A stop token that fires when the parent's does, when the deadline passes, or on cancel(). Lives on the loop thread, usually
// as a local of the coroutine whose work it bounds. (The parent's request may come from any thread.)
class StopScope {
 public:
  StopScope(EventLoop& loop, const std::stop_token& parent,
            std::optional<SteadyTime> deadline = std::nullopt);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  void cancel() { source_.request_stop(); }
  bool timed_out() const { return timed_out_; }
  // kTimeout or kCancelled, for what was stopped.
  Error reason(std::string_view what) const;

 private:
  EventLoop& loop_;
  std::stop_source source_;
  std::optional<TimerId> timer_;
  bool timed_out_ = false;
  struct Forward {
    std::stop_source source;
    void operator()() { source.request_stop(); }
  };
  std::stop_callback<Forward> on_parent_;
};

}  // namespace chela::runtime
