#include "bus/queue/policy.h"

#include <algorithm>

#include "bus/config_reader.h"
#include "bus/queue/limits.h"

namespace chela::bus::queue {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMaxBackoffMs = milliseconds(kMaxBackoff).count();
constexpr std::int64_t kMaxDelaySeconds = std::chrono::seconds(kMaxDelay).count();

void read_common(ConfigReader& reader, std::string_view retries, std::string_view backoff, Policy& out) {
  out.max_attempts = static_cast<int>(reader.integer(retries, out.max_attempts, 1, kMaxAttempts));
  out.backoff = milliseconds(reader.integer(backoff, out.backoff.count(), 1, kMaxBackoffMs));
}

}  // namespace

Result<Policy> Policy::of_named(std::string_view name, const json::Value& config, const Policy& defaults) {
  Policy out = defaults;
  ConfigReader reader(fmt::format("queue_configs: {}", name), config);
  read_common(reader, "max_retries", "backoff_ms", out);
  constexpr std::string_view kTypes[] = {"standard", "fifo"};
  out.order = reader.choice("type", kTypes) == "fifo" ? Order::kFifo : Order::kStandard;
  out.concurrency = static_cast<size_t>(
      reader.integer("concurrency", static_cast<std::int64_t>(out.concurrency), 1, kMaxConcurrency));
  out.group_field = reader.text("message_group_field");
  out.max_priority = static_cast<int>(reader.integer("max_priority", 0, 0, kMaxPriority));
  out.priority_field = reader.text("priority_field");
  // Nothing here polls; the number must be one all the same.
  reader.integer("poll_interval_ms", 100, 1, kMaxBackoffMs);
  if (out.order == Order::kFifo && out.group_field.empty())
    reader.refuse("message_group_field", "a fifo queue needs it");
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return out;
}

Result<Policy> Policy::of_subscriber(const json::Value& trigger_config, const Policy& defaults) {
  Policy out = defaults;
  // The trigger has keys of others too: its reader is not finished, but for problems.
  json::Value brief_keys = json::Value::object();
  for (const std::string_view key : {"max_retries", "backoff_ms"}) {
    if (const json::Value* value = trigger_config.find(key)) brief_keys.set(std::string(key), *value);
  }
  ConfigReader brief("the trigger's config", brief_keys);
  read_common(brief, "max_retries", "backoff_ms", out);
  if (const Result<> good = brief.finish(); !good) return fail(good.error());
  const json::Value* config = trigger_config.find("queue_config");
  if (config == nullptr) return out;
  ConfigReader reader("queue_config", *config);
  read_common(reader, "maxRetries", "backoffDelayMs", out);
  const std::string type = reader.text("type");
  if (!type.empty()) out.order = type == "fifo" ? Order::kFifo : Order::kStandard;
  out.concurrency = static_cast<size_t>(
      reader.integer("concurrency", static_cast<std::int64_t>(out.concurrency), 1, kMaxConcurrency));
  const std::int64_t timeout = reader.integer("visibilityTimeout", 0, 0, kMaxDelaySeconds);
  if (timeout > 0) out.timeout = std::chrono::seconds(timeout);
  out.delay = std::chrono::seconds(reader.integer("delaySeconds", 0, 0, kMaxDelaySeconds));
  constexpr std::string_view kGrowths[] = {"exponential", "fixed"};
  out.growth = reader.choice("backoffType", kGrowths) == "fixed" ? Growth::kFixed : Growth::kExponential;
  out.max_priority = static_cast<int>(reader.integer("maxPriority", 0, 0, kMaxPriority));
  out.priority_field = reader.text("priorityField");
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return out;
}

milliseconds Policy::retry_delay(int attempts) const {
  constexpr milliseconds kMost(kMaxBackoff);
  milliseconds wait = backoff;
  if (growth == Growth::kFixed) return std::min(wait, kMost);
  for (int i = 1; i < attempts && wait < kMost; ++i) wait *= 2;
  return std::min(wait, kMost);
}

Result<std::optional<std::string>> Policy::group_of(const json::Value& data, std::string_view queue) const {
  if (order == Order::kStandard) return std::nullopt;
  if (group_field.empty()) return std::string();  // a subscriber's queue is one line
  const json::Value* value = data.find(group_field);
  if (value == nullptr || value->is_null())
    return fail(Code::kInvalidArgument, "FIFO queue '{}' requires field '{}' in data, but it was not found",
                queue, group_field);
  std::string group = json::canonical(*value);
  if (group.size() > kMaxGroupBytes)
    return fail(Code::kInvalidArgument, "FIFO queue '{}': the field '{}' has {} bytes; the limit is {}",
                queue, group_field, group.size(), kMaxGroupBytes);
  return group;
}

int Policy::priority_of(const json::Value& data) const {
  if (priority_field.empty() || max_priority == 0) return 0;
  const std::int64_t priority = data.int_or(priority_field, 0);
  return static_cast<int>(std::clamp<std::int64_t>(priority, 0, max_priority));
}

json::Value Policy::to_json() const {
  json::Value out =
      json::Value::object({{"type", order == Order::kFifo ? "fifo" : "standard"},
                           {"concurrency", concurrency},
                           {"max_retries", max_attempts},
                           {"backoff_ms", backoff.count()},
                           {"backoff_type", growth == Growth::kFixed ? "fixed" : "exponential"}});
  if (delay.count() > 0) out.set("delay_ms", delay.count());
  if (timeout) out.set("timeout_ms", timeout->count());
  if (!group_field.empty()) out.set("message_group_field", group_field);
  if (!priority_field.empty()) out.set("priority_field", priority_field);
  if (max_priority > 0) out.set("max_priority", max_priority);
  return out;
}

}  // namespace chela::bus::queue
