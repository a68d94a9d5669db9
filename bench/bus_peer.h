#pragma once

#include <string>
#include <string_view>

#include "bench/connection.h"

// A connection to the bus that speaks its raw protocol as fast as it can: for measuring, not for use.
namespace chela::bench {

// The client's end of a WebSocket. Masks are zero, which is a mask too.
class Peer {
 public:
  Peer(int port, const std::string& token) : connection_(port) {
    connection_.out() = "GET /?token=" + token +
                        " HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    flush();
    while (connection_.rest().find("\r\n\r\n") == std::string_view::npos) fill();
    if (!connection_.rest().starts_with("HTTP/1.1 101")) die("the handshake was refused");
    connection_.take(connection_.rest().find("\r\n\r\n") + 4);
  }

  void queue(std::string_view text) {
    std::string& out = connection_.out();
    out += '\x81';
    const int bytes = text.size() < 126 ? 0 : text.size() <= 0xffff ? 2 : 8;
    out += static_cast<char>(0x80 | (bytes == 0 ? text.size() : bytes == 2 ? 126u : 127u));
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
      out += static_cast<char>(text.size() >> shift & 0xff);
    out.append(4, '\0');
    out += text;
  }

  // The next text frame that is there whole; empty when more must be read first.
  std::string_view next() {
    for (;;) {
      const std::string_view rest = connection_.rest();
      if (rest.size() < 2) return {};
      size_t length = static_cast<unsigned char>(rest[1]) & 0x7f;
      size_t head = 2;
      if (length >= 126) {
        const size_t bytes = length == 126 ? 2 : 8;
        if (rest.size() < 2 + bytes) return {};
        length = 0;
        for (size_t i = 0; i < bytes; ++i) length = length << 8 | static_cast<unsigned char>(rest[2 + i]);
        head += bytes;
      }
      if (rest.size() < head + length) return {};
      connection_.take(head + length);
      if ((rest[0] & 0x0f) == 1) return rest.substr(head, length);
      if ((rest[0] & 0x0f) == 8) die("the engine closed the connection");
    }
  }

  // Until all that was queued before has been handled.
  void settle() {
    queue(R"({"type":"ping"})");
    flush();
    for (std::string_view frame; frame != R"({"type":"pong"})"; frame = next()) {
      if (frame.empty()) fill();
    }
  }

  void flush() { connection_.flush(); }
  void fill() { connection_.fill(); }
  bool ahead() const { return connection_.ahead(); }
  int fd() const { return connection_.fd(); }
  void shut() { connection_.shut(); }

 private:
  Connection connection_;
};

inline constexpr std::string_view kIdKey = "\"invocation_id\":\"";

inline std::string_view id_of(std::string_view frame) {
  const size_t at = frame.find(kIdKey);
  if (at == std::string_view::npos) return {};
  const size_t from = at + kIdKey.size();
  return frame.substr(from, frame.find('"', from) - from);
}

}  // namespace chela::bench
