#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/result.h"
#include "base/text_parts.h"
#include "runtime/task.h"

namespace chela::net {

enum class MessageKind { kText, kBinary };

struct Message {
  MessageKind kind = MessageKind::kText;
  std::string data;
};

struct WebSocketOptions {
  size_t max_message_bytes = kMaxWebSocketMessageBytes;  // a longer one closes the connection with 1009
  std::chrono::milliseconds ping_interval =
      kWebSocketPingInterval;  // a peer silent for two of them is cut off
  std::string protocol = {};   // the sub-protocol to confirm, if any
};

// This end of one WebSocket. Owned by who opened or upgraded it; destroying it cuts the connection. Loop thread only.
class WebSocket {
 public:
  virtual ~WebSocket() = default;

  // Appends one frame to the connection's buffer, which is sent once per turn of the loop. kUnavailable when the connection is closed
  // or its unsent bytes would pass the limit: the caller then closes or drops it. Text must be valid UTF-8 (kInvalidArgument).
  virtual Result<> send_text(std::string_view text) = 0;
  virtual Result<> send_binary(std::string_view bytes) = 0;
  // The same for a text in parts, each of which must be valid UTF-8.
  virtual Result<> send_text_parts(const TextParts& parts) { return send_text(parts.joined()); }

  // The next whole message; nothing when the connection was closed, by either side. kUpstream after a cut or a breach of protocol
  // (text that is no UTF-8 included), kTooLarge for a message past the limit, kTimeout for a silent peer, kCancelled on stop.
  // One receiver at a time. Some messages are read ahead, with the pings between them; then reading pauses, so receive steadily.
  virtual Task<Result<std::optional<Message>>> receive(std::stop_token stop) = 0;

  // Sends a close frame after what is queued. 1000 is the normal code.
  virtual void close(std::uint16_t code, std::string_view reason) = 0;

  // Bytes that are not with the kernel yet.
  virtual size_t pending() const = 0;
  // Waits until pending() <= below. kUnavailable when the connection has closed, kCancelled on stop. May outlive the WebSocket.
  virtual Task<Result<>> drained(size_t below, std::stop_token stop) = 0;
};

}  // namespace chela::net
