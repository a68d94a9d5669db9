#include "net/incoming_body.h"

namespace chela::net {

void IncomingBody::add(std::string bytes) {
  if (over_ || bytes.empty()) return;
  if (bytes_.empty()) {
    bytes_ = std::move(bytes);
  } else {
    bytes_ += bytes;
  }
  wake();
}

void IncomingBody::end(std::optional<Error> why) {
  if (std::exchange(over_, true)) return;
  if (why) bytes_ = {};
  failed_ = std::move(why);
  wanted_ = nullptr;
  wake();
}

void IncomingBody::wake() {
  if (const auto woken = std::exchange(reader_, std::nullopt)) woken->resolve(true);
}

Task<Result<std::optional<std::string>>> IncomingBody::read(std::stop_token stop) {
  const std::shared_ptr<IncomingBody> self = shared_from_this();
  while (bytes_.empty() && !over_) {
    if (stop.stop_requested()) co_return fail(Code::kCancelled, "cancelled while the body was awaited");
    const runtime::Completion<bool> woken(loop_);
    reader_ = woken;
    wanted_();
    const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
    co_await woken;
  }
  if (failed_) co_return fail(*failed_);
  if (bytes_.empty()) co_return std::nullopt;
  std::string piece = std::exchange(bytes_, {});
  if (!over_) wanted_();
  co_return std::optional(std::move(piece));
}

}  // namespace chela::net
