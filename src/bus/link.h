#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>

#include "base/result.h"
#include "base/text_parts.h"
#include "runtime/task.h"

namespace chela::bus {

// The bus's way to one worker. Owned by whoever accepted the connection, who calls Bus::disconnect() before it goes. Loop thread only.
class Link {
 public:
  virtual ~Link() = default;

  // Queues one text frame of valid UTF-8. kUnavailable when the connection is closed or too much is unsent.
  virtual Result<> send(std::string_view frame) = 0;
  virtual Result<> send_parts(const TextParts& frame) { return send(frame.joined()); }
  virtual size_t unsent() const = 0;
  // Waits until unsent() <= below. kUnavailable when the connection has closed, kCancelled on stop.
  virtual Task<Result<>> drained(size_t below, std::stop_token stop) = 0;
  // A close frame after what is queued; the owner's receive loop then ends.
  virtual void close(std::uint16_t code, std::string_view reason) = 0;
};

// Of a worker that is no connection: what is sent is for nobody.
class NoLink final : public Link {
 public:
  Result<> send(std::string_view) override { return {}; }
  size_t unsent() const override { return 0; }
  Task<Result<>> drained(size_t, std::stop_token) override { co_return Result<>{}; }
  void close(std::uint16_t, std::string_view) override {}
};

}  // namespace chela::bus
