#include "net/socket_stream.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace chela::net {
namespace {

// A buffer grown past this by one large response is given back when it has been sent.
constexpr size_t kKeptBufferBytes = 4096;
// Bytes already sent are cut off the front when they are so many, and more than what remains.
constexpr size_t kCompactBytes = 64 * 1024;
constexpr size_t kDroppedAtOnce = 16 * 1024;

}  // namespace

SocketStream::SocketStream(runtime::AsioLoop& loop, UniqueFd fd, Limits limits, std::unique_ptr<TlsLink> tls)
    : loop_(loop), limits_(limits), fd_(std::move(fd)), tls_(std::move(tls)) {
  watch_.emplace(loop_, fd_.get());
}

SocketStream::~SocketStream() { close(); }

SocketStream::Read SocketStream::read(std::span<char> into) {
  if (closed()) return {ReadState::kBroken};
  if (tls_) return read_tls(into);
  const ssize_t n = ::recv(fd_.get(), into.data(), into.size(), 0);
  if (n > 0) return {ReadState::kData, static_cast<size_t>(n)};
  if (n == 0) return {ReadState::kEnd};
  return {errno == EAGAIN || errno == EINTR ? ReadState::kWouldBlock : ReadState::kBroken};
}

SocketStream::Read SocketStream::read_tls(std::span<char> into) {
  const TlsLink::Did did = tls_->read(into);
  switch (did.state) {
    case TlsLink::State::kDone:
      return {ReadState::kData, did.bytes};
    case TlsLink::State::kWantRead:
    case TlsLink::State::kWantWrite:
      return {ReadState::kWouldBlock};
    case TlsLink::State::kEnd:
      return {ReadState::kEnd};
    case TlsLink::State::kBroken:
      break;
  }
  return {ReadState::kBroken};
}

void SocketStream::wake_reader() {
  if (runtime::Callback reader = std::exchange(reader_, {})) reader();
}

void SocketStream::wait_readable(runtime::Callback callback) {
  if (closed()) {
    loop_.post(std::move(callback));
    return;
  }
  reader_ = std::move(callback);
  if (tls_ && tls_->has_more()) {
    loop_.post([weak = weak_from_this()] {
      if (const std::shared_ptr<SocketStream> self = weak.lock()) self->wake_reader();
    });
    return;
  }
  watch_->wait(Ready::kRead, [this] { wake_reader(); });
}

void SocketStream::stop_reading() { reader_ = nullptr; }

void SocketStream::send_parts(std::initializer_list<std::string_view> parts) {
  if (closed() || finishing_) return;
  for (const std::string_view part : parts) out_ += part;
  schedule_flush();
}

void SocketStream::finish(runtime::Callback then) {
  if (closed() || finishing_) return;
  finishing_ = true;
  on_finished_ = std::move(then);
  schedule_flush();
}

void SocketStream::schedule_flush() {
  // When the socket is full, its readiness flushes.
  if (flush_scheduled_) return;
  flush_scheduled_ = true;
  loop_.post([weak = weak_from_this()] {
    const std::shared_ptr<SocketStream> self = weak.lock();
    if (self && !self->closed()) self->flush();
  });
}

void SocketStream::flush() {
  flush_scheduled_ = false;
  while (pending() > 0) {
    const Wrote wrote = write_some();
    if (wrote == Wrote::kBroken) return close();
    if (wrote == Wrote::kWouldBlock) {
      flush_scheduled_ = true;
      if (!stall_timer_) {
        last_progress_ = loop_.clock().steady();
        watch_stall();
      }
      watch_->wait(Ready::kWrite, [weak = weak_from_this()] {
        const std::shared_ptr<SocketStream> self = weak.lock();
        if (self && !self->closed()) self->flush();
      });
      wake_waiters();
      return;
    }
  }
  wake_waiters();
  if (finishing_ && on_finished_) {
    if (tls_) tls_->say_end();
    ::shutdown(fd_.get(), SHUT_WR);
    runtime::Callback then = std::exchange(on_finished_, {});
    then();
  }
}

SocketStream::Wrote SocketStream::write_some() {
  const std::string_view unsent = std::string_view(out_).substr(sent_);
  if (tls_) {
    const TlsLink::Did did = tls_->write(unsent);
    if (did.state == TlsLink::State::kDone) {
      sent(did.bytes);
      return Wrote::kSome;
    }
    const bool waits = did.state == TlsLink::State::kWantWrite || did.state == TlsLink::State::kWantRead;
    return waits ? Wrote::kWouldBlock : Wrote::kBroken;
  }
  for (;;) {
    const ssize_t n = ::send(fd_.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (n > 0) {
      sent(static_cast<size_t>(n));
      return Wrote::kSome;
    }
    if (errno == EAGAIN) return Wrote::kWouldBlock;
    if (errno != EINTR) return Wrote::kBroken;
  }
}

void SocketStream::sent(size_t bytes) {
  sent_ += bytes;
  last_progress_ = loop_.clock().steady();
  if (sent_ == out_.size()) {
    sent_ = 0;
    out_.clear();
    if (out_.capacity() > kKeptBufferBytes) out_.shrink_to_fit();
  } else if (sent_ > kCompactBytes && sent_ > pending()) {
    out_.erase(0, sent_);
    sent_ = 0;
  }
}

// One timer per stalled stream, which looks at the last progress when it fires instead of being moved with each.
void SocketStream::watch_stall() {
  stall_timer_ = loop_.call_at(last_progress_ + limits_.write_stall, [this] {
    stall_timer_.reset();
    if (pending() == 0) return;
    if (loop_.clock().steady() - last_progress_ >= limits_.write_stall) {
      close();
    } else {
      watch_stall();
    }
  });
}

void SocketStream::linger(Linger limits) {
  if (closed() || linger_timer_) return;
  linger_bytes_ = limits.max_bytes;
  linger_timer_ = loop_.call_at(loop_.clock().steady() + limits.timeout, [this] {
    linger_timer_.reset();
    close();
  });
  finish([] {});
  drop_input();
}

void SocketStream::drop_input() {
  wait_readable([weak = weak_from_this()] {
    const std::shared_ptr<SocketStream> self = weak.lock();
    if (!self || self->closed()) return;
    std::array<char, kDroppedAtOnce> dropped;
    const Read got = self->read(dropped);
    if (got.state == ReadState::kEnd && self->pending() > 0) {
      // It may still read: the stream closes when all is sent.
      self->on_finished_ = [stream = self.get()] { stream->close(); };
    } else if (got.state == ReadState::kEnd || got.state == ReadState::kBroken ||
               got.bytes > self->linger_bytes_) {
      self->close();
    } else {
      self->linger_bytes_ -= got.bytes;
      self->drop_input();
    }
  });
}

Task<Result<>> SocketStream::drained(size_t below, std::stop_token stop) {
  const std::shared_ptr<SocketStream> self = shared_from_this();
  while (!closed() && pending() > below) {
    if (stop.stop_requested()) co_return fail(Code::kCancelled, "cancelled while the client was reading");
    const runtime::Completion<bool> done(loop_);
    waiters_.push_back({below, done});
    const std::stop_callback on_stop(stop, [done] { done.resolve(false); });
    co_await done;
    std::erase_if(waiters_, [](const Waiter& w) { return w.done.resolved(); });
  }
  if (closed()) co_return fail(Code::kUnavailable, "the client has gone");
  co_return Result<>{};
}

void SocketStream::wake_waiters() {
  for (const Waiter& waiter : waiters_) {
    if (closed() || pending() <= waiter.below) waiter.done.resolve(true);
  }
}

void SocketStream::close() {
  if (closed()) return;
  watch_.reset();
  tls_.reset();
  fd_.reset();
  out_ = std::string();
  sent_ = 0;
  if (stall_timer_) loop_.cancel(*std::exchange(stall_timer_, {}));
  if (linger_timer_) loop_.cancel(*std::exchange(linger_timer_, {}));
  on_finished_ = nullptr;
  wake_waiters();
  if (reader_) loop_.post(std::exchange(reader_, {}));
  if (on_closed_) loop_.post(std::exchange(on_closed_, {}));
}

}  // namespace chela::net
