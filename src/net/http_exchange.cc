#include "net/http_exchange.h"

#include "net/websocket_server.h"

namespace chela::net {

HttpExchange::HttpExchange(const Start& start, HttpRequest request)
    : connection_(start.connection),
      body_(start.body),
      request_(std::move(request)),
      minor_version_(start.minor_version),
      keep_alive_(start.keep_alive),
      head_only_(request_.method == "HEAD"),
      gone_(start.gone) {}

HttpExchange::~HttpExchange() {
  if (state_ != State::kDone) {
    connection_->abort();
  } else if (body_) {
    connection_->body_dropped(*body_);
  }
}

Task<Result<std::optional<std::string>>> HttpExchange::read_body(std::stop_token stop) {
  if (!body_) co_return std::nullopt;
  co_return co_await std::shared_ptr(body_)->read(std::move(stop));
}

Result<> HttpExchange::send_head(int status, const Headers& headers, Framing framing, size_t length) {
  if (!connection_->response_begins() || connection_->core().stopping) keep_alive_ = KeepAlive::kNo;
  std::string head;
  const Result<> appended = append_head(head, {.status = status,
                                               .headers = headers,
                                               .framing = framing,
                                               .length = length,
                                               .keep_alive = keep_alive_,
                                               .minor_version = minor_version_,
                                               .date = connection_->core().date()});
  if (appended) connection_->stream()->send(head);
  return appended;
}

void HttpExchange::reply(HttpResponse response) {
  CHELA_CHECK(state_ == State::kWaiting, "a request is answered once");
  const Framing framing = bodiless(response.status) ? Framing::kNone : Framing::kLength;
  if (const Result<> sent = send_head(response.status, response.headers, framing, response.body.size());
      !sent) {
    // What made the header is on our side: the client learns of a failure, not of a request it could mend.
    reply(error_response({500, Error{.code = Code::kInternal, .message = sent.error().message}}));
    return;
  }
  if (framing == Framing::kLength && !head_only_) connection_->stream()->send(response.body);
  state_ = State::kDone;
  connection_->response_done(keep_alive_);
}

Result<> HttpExchange::begin_stream(int status, Headers headers) {
  if (state_ != State::kWaiting) return fail(Code::kConflict, "the response has begun already");
  framing_ = bodiless(status)      ? Framing::kNone
             : minor_version_ == 0 ? Framing::kUntilClose
                                   : Framing::kChunked;
  if (framing_ == Framing::kUntilClose) keep_alive_ = KeepAlive::kNo;
  if (Result<> sent = send_head(status, headers, framing_, 0); !sent) return sent;
  state_ = State::kStreaming;
  return {};
}

Result<> HttpExchange::write(std::string_view bytes) {
  if (state_ != State::kStreaming) return fail(Code::kConflict, "the response has not begun or is over");
  SocketStream& stream = *connection_->stream();
  if (stream.closed()) return fail(Code::kUnavailable, "the client has gone");
  if (bytes.empty() || head_only_ || framing_ == Framing::kNone)
    return {};  // an empty chunk would end the body
  if (!stream.has_room(bytes.size())) {
    return fail(Code::kUnavailable, "the client reads too slowly: {} bytes are unsent", stream.pending());
  }
  if (framing_ == Framing::kUntilClose) {
    stream.send(bytes);
  } else {
    std::string chunk;
    append_chunk(chunk, bytes);
    stream.send(chunk);
  }
  return {};
}

void HttpExchange::end_stream() {
  if (state_ != State::kStreaming) return;
  if (framing_ == Framing::kChunked && !head_only_) connection_->stream()->send(kLastChunk);
  state_ = State::kDone;
  connection_->response_done(keep_alive_);
}

Task<Result<>> HttpExchange::drained(size_t below, std::stop_token stop) {
  return connection_->stream()->drained(below, std::move(stop));
}

void HttpExchange::abort() {
  state_ = State::kDone;
  connection_->abort();
}

void HttpExchange::handler_returned() {
  if (state_ != State::kWaiting) return;
  reply(error_response(
      {500, Error{.code = Code::kInternal, .message = "the request's handler gave no answer"}}));
}

Task<Result<std::unique_ptr<WebSocket>>> HttpExchange::upgrade(WebSocketOptions options) {
  if (state_ != State::kWaiting) co_return fail(Code::kConflict, "the response has begun already");
  if (!connection_->request_whole())
    co_return fail(Code::kInvalidArgument, "a WebSocket's handshake has no body");
  if (Result<> valid = check_handshake(request_, minor_version_); !valid) co_return fail(valid.error());
  state_ = State::kDone;
  const std::shared_ptr<HttpConnection> connection = connection_;
  co_return co_await accept_websocket({.loop = connection->core().loop,
                                       .stream = connection->stream(),
                                       .request = request_,
                                       .read_ahead = connection->hand_over(),
                                       .server_stops = gone_.get_token(),
                                       .options = std::move(options)});
}

}  // namespace chela::net
