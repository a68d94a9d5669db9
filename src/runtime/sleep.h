#pragma once

#include <stop_token>

#include "base/result.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::runtime {

// Waits until `when`, or fails with kCancelled at once when `stop` is requested.
Task<Result<>> sleep_until(EventLoop& loop, SteadyTime when, std::stop_token stop);
Task<Result<>> sleep_for(EventLoop& loop, std::chrono::milliseconds duration, std::stop_token stop);

// Lets everything that is queued on the loop run first.
Task<> yield(EventLoop& loop);

}  // namespace chela::runtime
