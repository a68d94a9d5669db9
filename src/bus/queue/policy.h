#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace chela::bus::queue {

// How a queue treats its messages.
struct Policy {
  enum class Order { kStandard, kFifo };
  enum class Growth { kFixed, kExponential };

  Order order = Order::kStandard;
  size_t concurrency = 10;  // messages that run at once; of a fifo queue, groups
  int max_attempts = 3;     // then a message is dead
  std::chrono::milliseconds backoff{1000};
  Growth growth = Growth::kExponential;                             // of the wait from attempt to attempt
  std::chrono::milliseconds delay{0};                               // before the first attempt
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;  // of one attempt; else the bus's
  std::string group_field = {};     // of named fifo queues: the member of the data that names the group
  std::string priority_field = {};  // the member of the data that says how urgent it is; "" = none
  int max_priority = 0;

  // `queue_configs.<name>` of the configuration. kInvalidArgument names what is wrong, unknown keys too.
  static Result<Policy> of_named(std::string_view name, const json::Value& config, const Policy& defaults);
  // The `queue_config` of a subscriber's trigger, or the shorter keys beside it. The same.
  static Result<Policy> of_subscriber(const json::Value& trigger_config, const Policy& defaults);

  // How long a message waits after its n-th failed attempt; kMaxBackoff at most.
  std::chrono::milliseconds retry_delay(int attempts) const;
  // What the line may not mix: nothing for a standard queue. kInvalidArgument when a fifo queue's field is missing.
  Result<std::optional<std::string>> group_of(const json::Value& data, std::string_view queue) const;
  int priority_of(const json::Value& data) const;

  json::Value to_json() const;
};

}  // namespace chela::bus::queue
