#include "runtime/stop_scope.h"

namespace chela::runtime {

StopScope::StopScope(EventLoop& loop, const std::stop_token& parent, std::optional<SteadyTime> deadline)
    : loop_(loop), on_parent_(parent, Forward{source_}) {
  if (deadline) {
    timer_ = loop_.call_at(*deadline, [this] {
      timer_.reset();
      timed_out_ = !source_.stop_requested();
      source_.request_stop();
    });
  }
}

StopScope::~StopScope() {
  if (timer_) loop_.cancel(*timer_);
}

Error StopScope::reason(std::string_view what) const {
  if (timed_out_)
    return Error{.code = Code::kTimeout, .message = fmt::format("{} took longer than its deadline", what)};
  return Error{.code = Code::kCancelled, .message = fmt::format("{} was cancelled", what)};
}

}  // namespace chela::runtime
