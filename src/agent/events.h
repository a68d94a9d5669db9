#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "runtime/task.h"

namespace chela::agent {

// What a client watches: one typed stream read from the log, with provisional text between. `id` is "<pos>.<n>" for a user's stream
// and "<seq>.<n>" for a thread's; n counts the deltas since that record. `data` holds "type" (= type), "thread_id", "turn_id" and the
// fields of docs/contracts.md.
struct Event {
  std::string id;
  std::string type;
  json::Value data;
};

// One client's place in the stream. Live from its creation on. Destroying it ends the subscription.
class Subscription {
 public:
  virtual ~Subscription() = default;
  // The next event; nothing when the subscription has been cut off (too slow: the last event was stream_reset), the engine stops, or
  // `stop` was requested.
  virtual Task<std::optional<Event>> next(std::stop_token stop) = 0;
  virtual std::optional<Event> try_next() = 0;
};

}  // namespace chela::agent
