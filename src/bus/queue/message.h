#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "bus/provider.h"
#include "bus/queue/line.h"
#include "op/principal.h"
#include "store/records.h"

namespace chela::bus::queue {

// Which queue: one that the configuration names, or that of a topic's subscriber. Each user has its own.
struct QueueId {
  enum class Kind { kNamed, kTopic };

  std::string realm;
  std::string user;
  Kind kind = Kind::kNamed;
  std::string name;
  std::string subscriber = {};  // of a topic: the function; "" holds what came before anybody subscribed

  auto operator<=>(const QueueId&) const = default;
};

// A message that is waiting, running or dead. What is above the line never changes.
struct Message {
  Seq seq = 0;
  std::string id;                // its receipt
  std::string function_id = {};  // of a named queue: what is to be called
  std::shared_ptr<const op::Principal>
      sender;    // in whose name; null for a topic, where the subscriber is called in its own
  Payload data;  // text alone: its tree would take many times as much
  UnixMs created = 0;
  UnixMs not_before = 0;  // of its first attempt
  std::optional<std::string> group = std::nullopt;
  int priority = 0;
  std::string traceparent = {};
  std::string baggage = {};
  // ---
  int attempts = 0;  // that failed
  UnixMs retry_at = 0;
  std::string error = {};  // of the last of them
  UnixMs died_at = 0;      // 0: not dead

  size_t bytes() const;  // that it counts for; the same as long as its group is
};
using MessagePtr = std::shared_ptr<Message>;

// A subscription that outlives its trigger.
struct Subscription {
  QueueId id;
  json::Value config;  // of the trigger
};

// Where all that lies in the records: a message once, as it came; how its attempts went apart, so that a retry writes little.
inline constexpr std::string_view kMessages = "messages";
inline constexpr std::string_view kAttempts = "attempts";
inline constexpr std::string_view kSubscribers = "subscribers";

std::string key_of(Seq seq);
store::RecordChange put_message(const QueueId& queue, const Message& message);
store::RecordChange put_attempts(const Message& message);
store::RecordChange put_subscription(const Subscription& subscription);
store::RecordChange erase_subscription(const QueueId& queue);
store::RecordChange erase_attempts(const Message& message);
// All there is of it.
std::vector<store::RecordChange> erase_message(const Message& message);

// What was put; kInternal when a record is none of ours.
struct StoredMessage {
  QueueId queue;
  MessagePtr message;
};
Result<StoredMessage> read_message(const store::Record& record);
Result<Subscription> read_subscription(const store::Record& record);
Result<> read_attempts(const store::Record& record, Message& message);
Result<Seq> read_seq(const store::Record& record);

}  // namespace chela::bus::queue
