#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/limits.h"
#include "net/http.h"
#include "net/tls_client.h"
#include "net/url.h"
#include "net/websocket.h"
#include "runtime/asio_loop.h"
#include "runtime/pool.h"

namespace chela::net {

// An address of a WebSocket, ws:// or wss://, as the http:// or https:// one that its handshake is sent to. kInvalidArgument for what is
// neither.
Result<Url> parse_websocket_url(std::string_view text);

inline constexpr std::chrono::milliseconds kWebSocketConnectTimeout = std::chrono::seconds(10);

struct ConnectWebSocket {
  Url url;                               // as parse_websocket_url() gives it
  std::shared_ptr<TlsTrust> trust = {};  // for https://; null: what the system trusts
  Headers headers = {};                  // beside those of the handshake
  WebSocketOptions options = {};
  size_t max_unsent = kMaxWriteBufferBytes;
  std::chrono::milliseconds timeout = kWebSocketConnectTimeout;  // until the handshake is over
};

// The client's end of a new WebSocket. kUnavailable when nobody can be reached there, kTimeout, kCancelled; kUnauthenticated,
// kPermissionDenied, kNotFound and kUpstream when the answer is no WebSocket, kUpstream too when its certificate is not trusted. Names are
// looked up in the pool.
Task<Result<std::unique_ptr<WebSocket>>> connect_websocket(runtime::AsioLoop& loop, runtime::Pool& pool,
                                                           ConnectWebSocket start, std::stop_token stop);

}  // namespace chela::net
