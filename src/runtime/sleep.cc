#include "runtime/sleep.h"

#include "runtime/completion.h"

namespace chela::runtime {

Task<Result<>> sleep_until(EventLoop& loop, SteadyTime when, std::stop_token stop) {
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "cancelled");
  const Completion<bool> woken(loop);
  const TimerId timer = loop.call_at(when, [woken] { woken.resolve(true); });
  const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
  if (co_await woken) co_return Result<>{};
  loop.cancel(timer);
  co_return fail(Code::kCancelled, "cancelled");
}

Task<Result<>> sleep_for(EventLoop& loop, std::chrono::milliseconds duration, std::stop_token stop) {
  return sleep_until(loop, loop.clock().steady() + duration, std::move(stop));
}

Task<> yield(EventLoop& loop) {
  const Completion<bool> turn(loop);
  loop.post([turn] { turn.resolve(true); });
  co_await turn;
}

}  // namespace chela::runtime
