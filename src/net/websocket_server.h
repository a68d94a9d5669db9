#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "net/http.h"
#include "net/socket_stream.h"
#include "net/websocket.h"

namespace chela::net {

// kInvalidArgument when the request is no WebSocket handshake (RFC 6455, 4.2.1).
Result<> check_handshake(const HttpRequest& request, int minor_version);

struct AcceptWebSocket {
  runtime::AsioLoop& loop;
  std::shared_ptr<SocketStream> stream;
  const HttpRequest& request;    // a valid handshake
  std::string read_ahead;        // bytes that came after the request
  std::stop_token server_stops;  // closes with 1001
  WebSocketOptions options;
};

// Answers the handshake.
Task<Result<std::unique_ptr<WebSocket>>> accept_websocket(AcceptWebSocket start);

}  // namespace chela::net
