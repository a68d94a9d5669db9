#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "net/socket_stream.h"
#include "net/websocket.h"
#include "net/websocket_frames.h"

namespace chela::net {

struct OpenWebSocket {
  runtime::AsioLoop& loop;
  std::shared_ptr<SocketStream> stream;
  WebSocketEnd end;        // ours
  std::string read_ahead;  // bytes that came after the handshake
  std::stop_token stops;   // closes with 1001
  WebSocketOptions options;
};

// A WebSocket whose handshake is over.
std::unique_ptr<WebSocket> open_websocket(OpenWebSocket start);

}  // namespace chela::net
