#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "bus/link.h"
#include "bus/stream/hub.h"
#include "bus/stream/stream_triggers.h"
#include "bus/stream/values.h"

namespace chela::bus::stream {

// What a socket asks to hear.
struct Wish {
  std::string subscription;
  std::string stream;
  std::string group;
  std::optional<std::string> item = std::nullopt;
};

// Whose socket it is.
struct Guest {
  Rights rights;
  json::Value context = {};  // what the auth function said of it; null = nothing
};

// One socket that hears of streams. Its owner hands it message by message, and calls end() before it goes. Loop thread only.
class Session {
 public:
  struct Parts {
    Bus& bus;
    Values& values;
    Hub& hub;
    StreamTriggers& triggers;
  };
  Session(Parts parts, Link& link, Guest guest, size_t held_events, std::stop_token stop);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // A message of the socket: join or leave. What is neither is answered with an error envelope.
  Task<> handle(std::string message);
  // Asks the triggers, then shows what is there; from then on the socket hears of changes. The id's earlier subscription ends.
  Task<> join(Wish wish);
  void leave(const std::string& subscription);
  // All of them leave.
  void end();

  size_t subscriptions() const { return subscriptions_.size(); }

 private:
  class Heard;
  void send(const std::string& text);
  void tell(const Place& place, const std::optional<std::string>& item, const std::string& event);
  Payload payload_of(const Wish& wish) const;
  op::CallContext context() const;
  Place place_of(const Wish& wish) const {
    return {.tenant = tenant_, .stream = wish.stream, .group = wish.group};
  }

  const Parts parts_;
  Link& link_;
  const Guest guest_;
  const std::string tenant_;
  const size_t held_events_;
  const std::stop_token stop_;
  std::map<std::string, std::unique_ptr<Heard>, std::less<>> subscriptions_;
};

}  // namespace chela::bus::stream
