#include "bus/channels/channel.h"

#include "bus/channels/limits.h"

namespace chela::bus::channels {

Channel::Channel(runtime::EventLoop& loop, std::string id, std::pair<std::string, std::string> keys,
                 size_t capacity)
    : loop_(loop),
      id_(std::move(id)),
      keys_(std::move(keys)),
      capacity_(capacity),
      created_(loop.clock().steady()) {}

bool Channel::take(End end) {
  bool& taken = end == End::kRead ? read_taken_ : write_taken_;
  return !std::exchange(taken, true);
}

bool Channel::full() const {
  return !queue_.empty() && (queue_.size() >= capacity_ || bytes_ >= kMaxBufferedBytes);
}

Task<bool> Channel::wait(std::optional<runtime::Completion<bool>>& waiter, std::stop_token stop) {
  if (stop.stop_requested()) co_return false;
  const runtime::Completion<bool> woken(loop_);
  waiter = woken;
  const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
  co_return co_await woken;
}

void Channel::wake(std::optional<runtime::Completion<bool>>& waiter) {
  if (const auto woken = std::exchange(waiter, std::nullopt)) woken->resolve(true);
}

Task<Result<>> Channel::write(net::Message message, std::stop_token stop) {
  while (!closed_ && full()) {
    if (!co_await wait(writer_, stop)) co_return fail(Code::kCancelled, "cancelled");
  }
  if (closed_) co_return fail(*closed_);
  if (finished_) co_return fail(Code::kUnavailable, "the channel has been finished");
  bytes_ += message.data.size();
  queue_.push_back(std::move(message));
  wake(reader_);
  co_return Result<>{};
}

void Channel::finish(std::optional<Error> why) {
  if (finished_ || closed_) return;
  finished_ = true;
  too_early_ = std::move(why);
  wake(reader_);
}

Task<Result<std::optional<net::Message>>> Channel::read(std::stop_token stop) {
  while (!closed_ && !finished_ && queue_.empty()) {
    if (!co_await wait(reader_, stop)) co_return fail(Code::kCancelled, "cancelled");
  }
  if (closed_) co_return fail(*closed_);
  if (queue_.empty()) {
    over_.request_stop();
    if (too_early_) co_return fail(*too_early_);
    co_return std::nullopt;
  }
  net::Message message = std::move(queue_.front());
  queue_.pop_front();
  bytes_ -= message.data.size();
  wake(writer_);
  co_return std::optional(std::move(message));
}

void Channel::close(Error why) {
  if (closed_) return;
  closed_ = std::move(why);
  queue_.clear();
  bytes_ = 0;
  wake(reader_);
  wake(writer_);
  over_.request_stop();
}

}  // namespace chela::bus::channels
