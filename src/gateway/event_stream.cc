#include "gateway/event_stream.h"

#include "base/limits.h"
#include "net/sse.h"

namespace chela::gateway {
namespace {

// A stream waits for its client from here on; what the client does not read piles up in the engine's queue, not in ours.
constexpr size_t kHighWater = 64 * 1024;
constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

}  // namespace

EventStream::EventStream(runtime::EventLoop& loop, std::shared_ptr<net::Exchange> exchange,
                         std::function<net::Headers()> headers, size_t& open_streams, std::stop_token stop)
    : loop_(loop),
      exchange_(std::move(exchange)),
      headers_(std::move(headers)),
      open_streams_(open_streams),
      stop_(std::move(stop)) {}

EventStream::~EventStream() {
  if (timer_) loop_.cancel(*timer_);
  if (opened_) --open_streams_;
}

Result<> EventStream::open() {
  if (opened_) return {};
  net::Headers headers = headers_();
  headers.set("Content-Type", "text/event-stream; charset=utf-8");
  headers.set("Cache-Control", "no-cache");
  headers.set("X-Accel-Buffering", "no");
  if (Result<> begun = exchange_->begin_stream(200, std::move(headers)); !begun) return begun;
  opened_ = true;
  ++open_streams_;
  timer_ = loop_.call_at(loop_.clock().steady() + kSseKeepAlive, [this] { keep_alive(); });
  return {};
}

void EventStream::keep_alive() {
  timer_.reset();
  if (!write(kKeepAlive)) return;
  timer_ = loop_.call_at(loop_.clock().steady() + kSseKeepAlive, [this] { keep_alive(); });
}

Result<> EventStream::write(std::string_view bytes) {
  if (broken_) return fail(Code::kUnavailable, "the client has gone");
  Result<> written = exchange_->write(bytes);
  if (written) return written;
  broken_ = true;
  const bool gone = exchange_->client_gone().stop_requested();
  exchange_->abort();
  if (gone) return written;
  return fail(Code::kTooLarge, "{}", written.error().message);
}

Result<> EventStream::emit(op::Event event) {
  if (Result<> ready = open(); !ready) return ready;
  return write(net::format_sse(event.name, event.id, event.data));
}

Task<Result<>> EventStream::drained() {
  if (broken_) co_return fail(Code::kUnavailable, "the client has gone");
  if (!opened_ || exchange_->pending() <= kHighWater) co_return Result<>{};
  co_return co_await exchange_->drained(kHighWater, stop_);
}

void EventStream::finish(const std::optional<op::Event>& last) {
  if (!opened_ || broken_) return;
  if (last && !write(net::format_sse(last->name, last->id, last->data))) return;
  exchange_->end_stream();
}

}  // namespace chela::gateway
