#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/result.h"
#include "net/http.h"
#include "net/limits.h"
#include "net/websocket.h"
#include "runtime/asio_loop.h"
#include "runtime/task.h"

namespace chela::net {

// One request and its response. Shared by the handler and whoever it hands the response to; dropping the last reference before the
// response is complete cuts the connection. Loop thread only. Every call is safe after the client has gone.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const HttpRequest& request() const = 0;

  // The next piece of a body that is streamed (HttpServerOptions::stream_limit), nothing after its end; of a whole one, which is in
  // request(), its end at once. While nobody reads, little is kept and the client is held back. Reading may go on when the response is
  // complete; who keeps the exchange then keeps the connection. kUnavailable when the client has gone, kTimeout when it stalls,
  // kInvalidArgument or kTooLarge when the rest cannot be taken, kCancelled on stop. One at a time.
  virtual Task<Result<std::optional<std::string>>> read_body(std::stop_token stop) = 0;

  // Fires when the client disconnects (also while the handler works and writes nothing) or the server stops.
  virtual std::stop_token client_gone() const = 0;

  // The whole response at once. Content-Length, Connection, Transfer-Encoding and Date are the server's. Call it once, and not after
  // begin_stream().
  virtual void reply(HttpResponse response) = 0;

  // Starts a response of unknown length: chunked, or until the connection closes for HTTP/1.0. kInvalidArgument for a malformed
  // header, kConflict when a response has begun.
  virtual Result<> begin_stream(int status, Headers headers) = 0;
  // Appends to the connection's one buffer, which is sent once per turn of the loop. kUnavailable when the client has gone or the
  // unsent bytes would pass the limit: the caller then calls abort().
  virtual Result<> write(std::string_view bytes) = 0;
  virtual void end_stream() = 0;

  // Bytes that are not with the kernel yet.
  virtual size_t pending() const = 0;
  // Waits until pending() <= below. kUnavailable when the client has gone, kCancelled on stop.
  virtual Task<Result<>> drained(size_t below, std::stop_token stop) = 0;

  // Cuts the connection; what is unsent is lost.
  virtual void abort() = 0;

  // Answers the WebSocket handshake and takes the connection over; this exchange is then over. kInvalidArgument when the request is
  // no handshake: the handler still replies then.
  virtual Task<Result<std::unique_ptr<WebSocket>>> upgrade(WebSocketOptions options = {}) = 0;
};

// Owned by the server's task group; the server waits for it in stop(). Returning without a response means a 500.
using HttpHandler = std::function<Task<>(std::shared_ptr<Exchange>)>;

struct HttpServerOptions {
  size_t max_header_bytes = kMaxHeaderBytes;
  // The largest body for a path; kMaxBodyBytes when not set.
  std::function<size_t(std::string_view path)> body_limit = {};
  // Which requests come to the handler at the end of their head, their bodies piece by piece; none when not set.
  StreamLimit stream_limit = {};
  // How the answer looks when the server refuses a request itself (400, 408, 413, 417, 431, 503): without it the JSON envelope of
  // docs/contracts.md. The path is "" while it is not known. Headers must be well-formed.
  std::function<HttpResponse(int status, const Error& error, std::string_view path)> refusal = {};
  size_t max_connections = kMaxConnections;
  size_t max_write_buffer = kMaxWriteBufferBytes;
  std::chrono::milliseconds header_timeout =
      kHeaderReadTimeout;  // from the first byte of a request to the end of its head
  std::chrono::milliseconds request_timeout =
      kRequestReadTimeout;  // from the first byte of a request to its last
  // Between the pieces of a streamed body, less while they come slower than kSlowestBodyRate; in all for one that is dropped.
  std::chrono::milliseconds body_idle_timeout = kBodyIdleTimeout;
  std::chrono::milliseconds idle_timeout = kIdleConnectionTimeout;  // between requests
  std::chrono::milliseconds write_stall_timeout =
      kWriteStallTimeout;  // a client that takes no byte for so long is cut off
  // For the path of a request on a connection past the limit, so that it is refused in the words of that path.
  std::chrono::milliseconds refused_request_wait = kRefusedRequestWait;
  // For a refused client to read the answer before the connection closes.
  std::chrono::milliseconds linger_timeout = kLingerTimeout;
};

// HTTP/1.1 and 1.0 on any number of TCP and Unix sockets: keep-alive, pipelining (answers in order), WebSocket upgrade. What it
// refuses itself (400, 408, 413, 417, 431, 500, 503) carries the JSON error envelope of docs/contracts.md.
// Loop thread only. The owner awaits stop() before it destroys the server.
class HttpServer {
 public:
  HttpServer(runtime::AsioLoop& loop, HttpServerOptions options, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Port 0 takes a free one; gives the real port. kConflict when the port is taken.
  Result<std::uint16_t> listen_tcp(const std::string& host, std::uint16_t port);
  // Mode 0600. Replaces a socket that nobody listens on any more; kConflict when somebody does or the path is something else.
  Result<> listen_unix(const std::string& path);

  // Stops listening, fires client_gone() of every exchange, gives handlers and unsent bytes `grace` to finish, cuts what is left and
  // waits for all handlers to return.
  Task<> stop(std::chrono::milliseconds grace);

  size_t connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace chela::net
