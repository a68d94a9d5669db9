#pragma once

#include <cstdint>
#include <functional>

#include "runtime/clock.h"

namespace chela::runtime {

using Callback = std::move_only_function<void()>;
using TimerId = std::uint64_t;

// The one thread on which agents, gateway and bus live. All Tasks run on it, so they share state without locks.
// Owned by app/ (AsioLoop) or a test (testing::ManualLoop); outlives everything that holds a reference to it.
class EventLoop {
 public:
  virtual ~EventLoop() = default;

  // Runs the callback on the loop, after what is queued now. Thread-safe.
  virtual void post(Callback callback) = 0;

  // Runs the callback on the loop at or after `when`. Loop thread only.
  virtual TimerId call_at(SteadyTime when, Callback callback) = 0;

  // True when the timer had not fired and never will. Loop thread only.
  virtual bool cancel(TimerId timer) = 0;

  virtual const Clock& clock() const = 0;

  // Runs until `done` is true (checked after each callback). The calling thread becomes the loop thread.
  virtual void run_until(const std::function<bool()>& done) = 0;
};

}  // namespace chela::runtime
