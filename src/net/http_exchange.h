#pragma once

#include "net/http_connection.h"

namespace chela::net {

class HttpExchange final : public Exchange {
 public:
  struct Start {
    std::shared_ptr<HttpConnection> connection;
    std::shared_ptr<IncomingBody> body;  // null: there is none but what is in the request
    std::stop_source gone;               // fired by the connection
    KeepAlive keep_alive;
    int minor_version;
  };

  HttpExchange(const Start& start, HttpRequest request);
  ~HttpExchange() override;

  const HttpRequest& request() const override { return request_; }
  Task<Result<std::optional<std::string>>> read_body(std::stop_token stop) override;
  std::stop_token client_gone() const override { return gone_.get_token(); }
  void reply(HttpResponse response) override;
  Result<> begin_stream(int status, Headers headers) override;
  Result<> write(std::string_view bytes) override;
  void end_stream() override;
  size_t pending() const override { return connection_->stream()->pending(); }
  Task<Result<>> drained(size_t below, std::stop_token stop) override;
  void abort() override;
  Task<Result<std::unique_ptr<WebSocket>>> upgrade(WebSocketOptions options) override;

  // For the connection.
  void handler_returned();

 private:
  enum class State { kWaiting, kStreaming, kDone };

  Result<> send_head(int status, const Headers& headers, Framing framing, size_t length);

  const std::shared_ptr<HttpConnection> connection_;
  const std::shared_ptr<IncomingBody> body_;
  const HttpRequest request_;
  const int minor_version_;
  KeepAlive keep_alive_;
  State state_ = State::kWaiting;
  Framing framing_ = Framing::kLength;
  const bool head_only_;
  const std::stop_source gone_;
};

}  // namespace chela::net
