#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "bus/link.h"
#include "net/websocket.h"

namespace chela::bus {

// A WebSocket as the way to whoever is connected by it. The socket outlives it.
class SocketLink final : public Link {
 public:
  explicit SocketLink(net::WebSocket& socket) : socket_(socket) {}
  Result<> send(std::string_view frame) override { return socket_.send_text(frame); }
  Result<> send_parts(const TextParts& frame) override { return socket_.send_text_parts(frame); }
  size_t unsent() const override { return socket_.pending(); }
  Task<Result<>> drained(size_t below, std::stop_token stop) override {
    return socket_.drained(below, std::move(stop));
  }
  void close(std::uint16_t code, std::string_view reason) override { socket_.close(code, reason); }

 private:
  net::WebSocket& socket_;
};

}  // namespace chela::bus
