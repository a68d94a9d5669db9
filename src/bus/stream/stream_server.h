#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bus/server.h"
#include "bus/stream/session.h"
#include "net/http_server.h"
#include "runtime/asio_loop.h"

namespace chela::bus::stream {

struct StreamServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0 takes a free one
  // Who it is. An error refuses the socket.
  std::function<Task<Result<Admission>>(bus::Visitor)> authenticate;
  std::string auth_function = {};  // asked about every socket; "" = none
  size_t held_events = 0;          // of a subscription whose first values are read
};

// Where browsers hear of streams: a WebSocket at /, or at /stream/<name>/<group>/[<item>], which joins at once. Only who may call functions
// gets in. The auth function is called in the token's name; unless it answers with an object without "unauthorized": true, nobody does.
// Loop thread only. Its owner awaits stop() before it goes.
class StreamServer {
 public:
  StreamServer(runtime::AsioLoop& loop, Session::Parts parts, StreamServerOptions options);

  // kConflict when the port is taken.
  Result<> listen();
  Task<> stop(std::chrono::milliseconds grace);
  std::uint16_t port() const { return port_; }
  size_t sockets() const { return sockets_; }

 private:
  Task<> handle(std::shared_ptr<net::Exchange> exchange);
  Task<Result<Guest>> admit(std::shared_ptr<net::Exchange> exchange);

  const Session::Parts parts_;
  const StreamServerOptions options_;
  std::uint16_t port_ = 0;
  size_t sockets_ = 0;
  std::stop_source stopping_;
  net::HttpServer server_;
};

}  // namespace chela::bus::stream
