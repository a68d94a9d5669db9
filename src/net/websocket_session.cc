#include "net/websocket_session.h"

#include <algorithm>
#include <array>
#include <list>

#include "base/utf8.h"

namespace chela::net {
namespace {

using Received = Result<std::optional<Message>>;

constexpr auto kClosingTimeout = 10s;  // for the peer's close frame
constexpr size_t kMaxCloseReason = 123;
constexpr size_t kReadBytes = 128 * 1024;     // at once: a large frame and more
constexpr size_t kMaxReadAheadMessages = 64;  // waiting for receive(); then reading pauses
constexpr std::uint8_t kFinalText = 0x81;
constexpr std::uint8_t kFinalBinary = 0x82;
constexpr std::uint8_t kFinalClose = 0x88;
constexpr std::uint8_t kFinalPing = 0x89;
constexpr std::uint8_t kFinalPong = 0x8a;
constexpr std::uint16_t kGoingAway = 1001;
constexpr std::uint16_t kTooBig = 1009;

// Both ends' state of an open connection. What waits on the loop holds it weakly; while it waits for the peer's close frame, its timer
// keeps it.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(runtime::AsioLoop& loop, std::shared_ptr<SocketStream> stream, WebSocketEnd end,
          const WebSocketOptions& options)
      : loop_(loop),
        stream_(std::move(stream)),
        own_end_(end),
        reader_(options.max_message_bytes,
                end == WebSocketEnd::kServer ? WebSocketEnd::kClient : WebSocketEnd::kServer),
        max_message_bytes_(options.max_message_bytes),
        ping_interval_(options.ping_interval) {}
  ~Session() {
    if (timer_) loop_.cancel(*timer_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  SocketStream& stream() { return *stream_; }
  bool closing() const { return close_sent_; }

  // `read_ahead` came with the handshake.
  void start(std::string_view read_ahead) {
    watch_silence();
    take(read_ahead);
    wait();
  }

  Task<Received> receive(std::stop_token stop) {
    const std::shared_ptr<Session> self = shared_from_this();
    while (ready_.empty() && !end_) {
      if (stop.stop_requested()) co_return fail(Code::kCancelled, "cancelled while waiting for a message");
      waiter_.emplace(loop_);
      const runtime::Completion<bool> woken = *waiter_;
      const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
      co_await woken;
    }
    if (ready_.empty()) co_return *end_;  // the end stays
    Message message = std::move(ready_.front());
    ready_.pop_front();
    ready_bytes_ -= message.data.size();
    wait();
    co_return message;
  }

  void close(std::uint16_t code, std::string_view reason) {
    if (close_sent_ || stream_->closed()) return;
    std::string payload;
    payload.push_back(static_cast<char>(code >> 8));
    payload.push_back(static_cast<char>(code & 0xff));
    payload += utf8::prefix(reason, kMaxCloseReason);
    send_close(payload);
    if (timer_) loop_.cancel(*timer_);
    timer_ = loop_.call_at(loop_.clock().steady() + kClosingTimeout, [self = shared_from_this()] {
      self->timer_.reset();
      self->stream_->close();
    });
  }

  void send_frame(std::uint8_t first, const TextParts& parts) {
    const FrameHead head = frame_head(own_end_, first, parts.size());
    if (own_end_ == WebSocketEnd::kServer)
      return stream_->send_parts({head.bytes, parts.before, parts.middle, parts.after});
    std::string masked = head.bytes;
    size_t at = 0;
    for (const std::string_view part : {parts.before, parts.middle, parts.after}) {
      append_masked(masked, part, head.mask, at);
      at += part.size();
    }
    stream_->send(masked);
  }

 private:
  void wait() {
    if (waiting_ || end_ || ready_.size() >= kMaxReadAheadMessages || ready_bytes_ > max_message_bytes_)
      return;
    waiting_ = true;
    stream_->wait_readable([weak = weak_from_this()] {
      const std::shared_ptr<Session> self = weak.lock();
      if (!self) return;
      self->waiting_ = false;
      self->readable();
    });
  }

  void readable() {
    std::array<char, kReadBytes> buffer;  // not one a connection: most are idle
    const SocketStream::Read got = stream_->read(buffer);
    switch (got.state) {
      case SocketStream::ReadState::kData:
        heard_ = true;
        take({buffer.data(), got.bytes});
        break;
      case SocketStream::ReadState::kWouldBlock:
        break;
      case SocketStream::ReadState::kEnd:
      case SocketStream::ReadState::kBroken:
        finish(close_sent_ ? Received(std::nullopt) : fail(Code::kUpstream, "the WebSocket was cut"));
        stream_->close();
        return;
    }
    wait();
  }

  void take(std::string_view bytes) {
    while (!end_) {
      switch (reader_.next(bytes)) {
        case FrameReader::Event::kNeedMore:
          return;
        case FrameReader::Event::kMessage:
          ready_.push_back(reader_.take_message());
          ready_bytes_ += ready_.back().data.size();
          if (waiter_) waiter_->resolve(true);
          break;
        case FrameReader::Event::kPing:
          // A peer that floods with pings and reads no pong gets no more of them.
          if (!close_sent_ && stream_->has_room(reader_.control().size()))
            send_frame(kFinalPong, {reader_.control()});
          break;
        case FrameReader::Event::kPong:
          break;
        case FrameReader::Event::kClose:
          send_close(reader_.control());
          finish(std::nullopt);
          stream_->linger({.timeout = kLingerTimeout, .max_bytes = kMaxLingerBytes});
          return;
        case FrameReader::Event::kBroken:
          breach();
          return;
      }
    }
  }

  void breach() {
    const std::uint16_t code = reader_.fault();
    const bool by_us = close_sent_;
    send_close(std::string{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)});
    if (by_us) {
      finish(std::nullopt);
    } else if (code == kTooBig) {
      finish(fail(Code::kTooLarge, "a WebSocket message is larger than {} bytes", max_message_bytes_));
    } else {
      finish(fail(Code::kUpstream, "the WebSocket was cut: a breach of its protocol ({})", code));
    }
    // A peer that just sends a message past the limit comes to its end, and then reads why it was refused.
    stream_->linger(
        {.timeout = kClosingTimeout, .max_bytes = std::max(kMaxLingerBytes, 2 * max_message_bytes_)});
  }

  // A ping for each interval in which nothing came; after a second one the peer is gone.
  void watch_silence() {
    timer_ = loop_.call_at(loop_.clock().steady() + ping_interval_, [weak = weak_from_this()] {
      const std::shared_ptr<Session> self = weak.lock();
      if (!self) return;
      self->timer_.reset();
      self->check_silence();
    });
  }

  void check_silence() {
    if (end_) return;
    if (std::exchange(heard_, false)) {
      silent_ = 0;
    } else if (++silent_ == 2) {
      finish(fail(Code::kTimeout, "the WebSocket's peer is silent"));
      stream_->close();
      return;
    }
    if (silent_ > 0) send_frame(kFinalPing, {});
    watch_silence();
  }

  void send_close(std::string_view payload) {
    if (!std::exchange(close_sent_, true)) send_frame(kFinalClose, {payload});
  }

  void finish(Received end) {
    if (end_) return;
    end_ = std::move(end);
    close_sent_ = true;
    if (timer_) loop_.cancel(*std::exchange(timer_, {}));
    stream_->stop_reading();
    if (waiter_) waiter_->resolve(true);
  }

  runtime::AsioLoop& loop_;
  const std::shared_ptr<SocketStream> stream_;
  const WebSocketEnd own_end_;
  FrameReader reader_;
  const size_t max_message_bytes_;
  const std::chrono::milliseconds ping_interval_;
  std::list<Message> ready_;  // mostly empty, and then without memory of its own
  size_t ready_bytes_ = 0;
  std::optional<Received> end_;
  std::optional<runtime::Completion<bool>> waiter_;
  std::optional<runtime::TimerId> timer_;  // of silence, then of the closing handshake
  bool waiting_ = false;
  bool close_sent_ = false;
  bool heard_ = false;
  int silent_ = 0;  // intervals without a byte
};

class SessionWebSocket final : public WebSocket {
 public:
  SessionWebSocket(std::shared_ptr<Session> session, const std::stop_token& stops)
      : session_(std::move(session)), on_stop_(stops, Stop{session_}) {}

  ~SessionWebSocket() override {
    if (!session_->closing()) session_->stream().close();
  }

  Result<> send_text(std::string_view text) override { return send_text_parts({text}); }
  Result<> send_text_parts(const TextParts& parts) override {
    for (const std::string_view part : {parts.before, parts.middle, parts.after})
      if (!utf8::valid(part)) return fail(Code::kInvalidArgument, "a text message must be valid UTF-8");
    return send(kFinalText, parts);
  }
  Result<> send_binary(std::string_view bytes) override { return send(kFinalBinary, {bytes}); }
  Task<Received> receive(std::stop_token stop) override { return session_->receive(std::move(stop)); }
  void close(std::uint16_t code, std::string_view reason) override { session_->close(code, reason); }
  size_t pending() const override { return session_->stream().pending(); }
  Task<Result<>> drained(size_t below, std::stop_token stop) override {
    return session_->stream().drained(below, std::move(stop));
  }

 private:
  struct Stop {
    std::weak_ptr<Session> session;
    void operator()() const {
      if (const auto self = session.lock()) self->close(kGoingAway, "this end stops");
    }
  };

  Result<> send(std::uint8_t first, const TextParts& payload) {
    SocketStream& stream = session_->stream();
    if (stream.closed() || session_->closing()) return fail(Code::kUnavailable, "the WebSocket is closed");
    if (!stream.has_room(payload.size()))
      return fail(Code::kUnavailable, "the peer reads too slowly: {} bytes are unsent", stream.pending());
    session_->send_frame(first, payload);
    return {};
  }

  const std::shared_ptr<Session> session_;
  const std::stop_callback<Stop> on_stop_;
};

}  // namespace

std::unique_ptr<WebSocket> open_websocket(OpenWebSocket start) {
  const auto session = std::make_shared<Session>(start.loop, start.stream, start.end, start.options);
  session->start(start.read_ahead);
  return std::make_unique<SessionWebSocket>(session, start.stops);
}

}  // namespace chela::net
