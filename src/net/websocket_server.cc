#include "net/websocket_server.h"

#include "net/websocket_transport.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "base/strings.h"
#include "base/utf8.h"

namespace chela::net {
namespace {

namespace beast = boost::beast;
namespace ws = boost::beast::websocket;
using boost::system::error_code;
using Received = Result<std::optional<Message>>;

constexpr size_t kKeyLength = 24;               // base64 of 16 bytes
constexpr size_t kKeptBufferBytes = 16 * 1024;  // a message buffer grown past this is given back
constexpr auto kClosingTimeout = 10s;           // for the peer's close frame
constexpr std::uint8_t kFinalText = 0x81;
constexpr std::uint8_t kFinalBinary = 0x82;

bool has_token(const Headers& headers, std::string_view name, std::string_view token) {
  for (const auto& [field, value] : headers.fields) {
    if (!strings::iequals(field, name)) continue;
    for (const std::string_view part : strings::split(value, ',')) {
      if (strings::iequals(strings::trim(part), token)) return true;
    }
  }
  return false;
}

// RFC 6455, 5.2; a server's frames are not masked.
void append_frame_head(std::string& out, std::uint8_t first, size_t length) {
  out.push_back(static_cast<char>(first));
  const int bytes = length < 126 ? 0 : length <= 0xffff ? 2 : 8;
  out.push_back(static_cast<char>(bytes == 0 ? length : bytes == 2 ? 126 : 127));
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(length >> shift & 0xff));
}

// What Beast's operations share. They hold it, so it ends after the last of them.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(runtime::AsioLoop& loop, std::shared_ptr<SocketStream> stream, std::string read_ahead,
          const WebSocketOptions& options)
      : loop_(loop), stream_(stream), socket_(loop, std::move(stream), std::move(read_ahead)) {
    socket_.read_message_max(options.max_message_bytes);
    socket_.set_option(ws::stream_base::timeout{.handshake_timeout = kClosingTimeout,
                                                .idle_timeout = options.ping_interval * 2,
                                                .keep_alive_pings = true});
    if (!options.protocol.empty()) {
      socket_.set_option(
          ws::stream_base::decorator([protocol = options.protocol](ws::response_type& response) {
            response.set(beast::http::field::sec_websocket_protocol, protocol);
          }));
    }
  }

  SocketStream& stream() { return *stream_; }

  Task<Result<>> accept(beast::http::request<beast::http::empty_body> request) {
    const std::shared_ptr<Session> self = shared_from_this();
    const runtime::Completion<error_code> done(loop_);
    socket_.async_accept(request, [self, done](error_code ec) { done.resolve(ec); });
    if (const error_code ec = co_await done; ec) {
      co_return fail(Code::kUpstream, "the WebSocket handshake failed: {}", ec.message());
    }
    read();
    co_return Result<>{};
  }

  // One message is read ahead, so that pings are answered while the owner works on the one before.
  void read() {
    socket_.async_read(buffer_, [self = shared_from_this()](error_code ec, size_t) { self->received(ec); });
  }

  Task<Received> receive(std::stop_token stop) {
    const std::shared_ptr<Session> self = shared_from_this();
    while (!next_) {
      if (stop.stop_requested()) co_return fail(Code::kCancelled, "cancelled while waiting for a message");
      waiter_.emplace(loop_);
      const runtime::Completion<bool> woken = *waiter_;
      const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
      co_await woken;
    }
    if (!next_->has_value() || !(*next_)->has_value()) co_return *next_;  // the end stays
    Received message = *std::exchange(next_, {});
    read();
    co_return message;
  }

  void close(std::uint16_t code, std::string_view reason) {
    if (std::exchange(closing_, true) || stream_->closed()) return;
    ws::close_reason why(code);
    const std::string_view fits = utf8::prefix(reason, why.reason.max_size());
    why.reason.assign(fits.data(), fits.size());
    socket_.async_close(why, [self = shared_from_this()](error_code ec) {
      if (ec) self->stream_->close();
    });
  }
  bool closing() const { return closing_; }

 private:
  void received(error_code ec) {
    if (!ec) {
      next_ = Message{.kind = socket_.got_text() ? MessageKind::kText : MessageKind::kBinary,
                      .data = std::string(static_cast<const char*>(buffer_.data().data()), buffer_.size())};
      buffer_.clear();
      if (buffer_.capacity() > kKeptBufferBytes) buffer_ = beast::flat_buffer();
    } else {
      next_ = end(ec);
      closing_ = true;
      // Beast has answered a close frame or a breach by now and calls teardown itself; what it left open is closed here.
      if (ec != ws::error::closed)
        stream_->finish([weak = stream_->weak_from_this()] {
          if (const auto stream = weak.lock()) stream->close();
        });
    }
    if (waiter_) waiter_->resolve(true);
  }

  Received end(error_code ec) const {
    if (ec == ws::error::closed || closing_) return std::nullopt;
    if (ec == beast::error::timeout) return fail(Code::kTimeout, "the WebSocket's peer is silent");
    if (ec == ws::error::message_too_big || ec == ws::error::buffer_overflow) {
      return fail(Code::kTooLarge, "a WebSocket message is larger than {} bytes", socket_.read_message_max());
    }
    return fail(Code::kUpstream, "the WebSocket was cut: {}", ec.message());
  }

  runtime::AsioLoop& loop_;
  const std::shared_ptr<SocketStream> stream_;
  ws::stream<WebSocketTransport, false> socket_;
  beast::flat_buffer buffer_;
  std::optional<Received> next_;
  std::optional<runtime::Completion<bool>> waiter_;
  bool closing_ = false;
};

class ServerWebSocket final : public WebSocket {
 public:
  ServerWebSocket(std::shared_ptr<Session> session, const std::stop_token& server_stops)
      : session_(std::move(session)), on_stop_(server_stops, Stop{session_}) {}

  ~ServerWebSocket() override {
    if (!session_->closing()) session_->stream().close();
  }

  Result<> send_text(std::string_view text) override {
    if (!utf8::valid(text)) return fail(Code::kInvalidArgument, "a text message must be valid UTF-8");
    return send(kFinalText, text);
  }
  Result<> send_binary(std::string_view bytes) override { return send(kFinalBinary, bytes); }
  Task<Received> receive(std::stop_token stop) override { return session_->receive(std::move(stop)); }
  void close(std::uint16_t code, std::string_view reason) override { session_->close(code, reason); }
  size_t pending() const override { return session_->stream().pending(); }

 private:
  struct Stop {
    std::weak_ptr<Session> session;
    void operator()() const {
      if (const auto self = session.lock()) self->close(ws::close_code::going_away, "the server stops");
    }
  };

  Result<> send(std::uint8_t first, std::string_view payload) {
    SocketStream& stream = session_->stream();
    if (stream.closed() || session_->closing()) return fail(Code::kUnavailable, "the WebSocket is closed");
    if (!stream.has_room(payload.size())) {
      return fail(Code::kUnavailable, "the client reads too slowly: {} bytes are unsent", stream.pending());
    }
    std::string head;
    append_frame_head(head, first, payload.size());
    stream.send(head);
    stream.send(payload);
    return {};
  }

  const std::shared_ptr<Session> session_;
  const std::stop_callback<Stop> on_stop_;
};

}  // namespace

Result<> check_handshake(const HttpRequest& request, int minor_version) {
  const Headers& headers = request.headers;
  if (request.method != "GET" || minor_version < 1 || !has_token(headers, "Upgrade", "websocket") ||
      !has_token(headers, "Connection", "upgrade")) {
    return fail(Code::kInvalidArgument, "this address takes WebSocket connections only");
  }
  if (headers.value_or("Sec-WebSocket-Version") != "13")
    return fail(Code::kInvalidArgument, "the WebSocket version must be 13");
  if (strings::trim(headers.value_or("Sec-WebSocket-Key")).size() != kKeyLength) {
    return fail(Code::kInvalidArgument, "the Sec-WebSocket-Key is malformed");
  }
  return {};
}

Task<Result<std::unique_ptr<WebSocket>>> accept_websocket(AcceptWebSocket start) {
  beast::http::request<beast::http::empty_body> request;
  request.method(beast::http::verb::get);
  request.target(start.request.target);
  request.version(11);
  for (const auto& [name, value] : start.request.headers.fields) request.insert(name, value);
  const auto session =
      std::make_shared<Session>(start.loop, start.stream, std::move(start.read_ahead), start.options);
  if (Result<> accepted = co_await session->accept(std::move(request)); !accepted) {
    start.stream->close();
    co_return fail(accepted.error());
  }
  co_return std::make_unique<ServerWebSocket>(session, start.server_stops);
}

}  // namespace chela::net
