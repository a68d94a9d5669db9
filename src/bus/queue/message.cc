#include "bus/queue/message.h"

#include "base/strings.h"
#include "bus/queue/limits.h"

namespace chela::bus::queue {
namespace {

Failure foreign(const store::Record& record, std::string_view why) {
  return fail(Code::kInternal, "the record {}/{} is no record of a queue: {}", record.space, record.key, why);
}

void set_queue(json::Value& out, const QueueId& id) {
  out.set("realm", id.realm);
  out.set("user", id.user);
  if (id.kind == QueueId::Kind::kNamed) {
    out.set("queue", id.name);
  } else {
    out.set("topic", id.name);
    if (!id.subscriber.empty()) out.set("subscriber", id.subscriber);
  }
}

QueueId queue_in(const json::Value& value) {
  const bool named = value.find("queue") != nullptr;
  return {.realm = value.string_or("realm"),
          .user = value.string_or("user"),
          .kind = named ? QueueId::Kind::kNamed : QueueId::Kind::kTopic,
          .name = value.string_or(named ? "queue" : "topic"),
          .subscriber = value.string_or("subscriber")};
}

std::string subscription_key(const QueueId& id) {
  return json::write(json::Value::array({id.realm, id.user, id.name, id.subscriber}));
}

}  // namespace

size_t Message::bytes() const {
  size_t count = kMessageOverhead + data.text().size() + id.size() + function_id.size() + traceparent.size() +
                 baggage.size();
  // Twice: the line keeps it as well.
  if (group) count += 2 * group->size();
  if (sender) {
    count += sender->token_id.size();
    for (const std::string& each : sender->permissions) count += each.size();
  }
  return count;
}

std::string key_of(Seq seq) { return fmt::format("{:016x}", seq); }

store::RecordChange put_message(const QueueId& queue, const Message& message) {
  json::Value out = json::Value::object({{"id", message.id}});
  set_queue(out, queue);
  out.set("created", message.created);
  const auto text = [&out](std::string key, const std::string& value) {
    if (!value.empty()) out.set(std::move(key), value);
  };
  text("function", message.function_id);
  if (message.sender) {
    json::Value permissions = json::Value::array();
    for (const std::string& each : message.sender->permissions) permissions.push_back(each);
    out.set("permissions", std::move(permissions));
    if (message.sender->expires) out.set("expires", *message.sender->expires);
    text("token", message.sender->token_id);
  }
  if (message.not_before > 0) out.set("not_before", message.not_before);
  if (message.group) out.set("group", *message.group);
  if (message.priority != 0) out.set("priority", message.priority);
  text("traceparent", message.traceparent);
  text("baggage", message.baggage);
  std::string value = json::write(out);
  value.pop_back();
  const std::string& data = message.data.text();
  value.reserve(value.size() + data.size() + 16);
  value += R"(,"data":)";
  value += data;
  value += '}';
  return {.space = std::string(kMessages), .key = key_of(message.seq), .value = std::move(value)};
}

store::RecordChange put_attempts(const Message& message) {
  json::Value out = json::Value::object({{"attempts", message.attempts}, {"error", message.error}});
  if (message.died_at > 0) {
    out.set("died_at", message.died_at);
  } else {
    out.set("retry_at", message.retry_at);
  }
  return {.space = std::string(kAttempts), .key = key_of(message.seq), .value = json::write(out)};
}

store::RecordChange erase_attempts(const Message& message) {
  return {.space = std::string(kAttempts), .key = key_of(message.seq), .value = std::nullopt};
}

std::vector<store::RecordChange> erase_message(const Message& message) {
  std::vector<store::RecordChange> changes;
  changes.push_back({.space = std::string(kMessages), .key = key_of(message.seq), .value = std::nullopt});
  if (message.attempts > 0) changes.push_back(erase_attempts(message));
  return changes;
}

store::RecordChange put_subscription(const Subscription& subscription) {
  json::Value out = json::Value::object();
  set_queue(out, subscription.id);
  out.set("config", subscription.config);
  return {.space = std::string(kSubscribers),
          .key = subscription_key(subscription.id),
          .value = json::write(out)};
}

store::RecordChange erase_subscription(const QueueId& queue) {
  return {.space = std::string(kSubscribers), .key = subscription_key(queue), .value = std::nullopt};
}

Result<Seq> read_seq(const store::Record& record) {
  Seq seq = 0;
  const char* end = record.key.data() + record.key.size();
  if (const auto [at, ec] = std::from_chars(record.key.data(), end, seq, 16); ec != std::errc{} || at != end)
    return foreign(record, "its key is no number");
  return seq;
}

Result<StoredMessage> read_message(const store::Record& record) {
  const Result<Seq> seq = read_seq(record);
  if (!seq) return fail(seq.error());
  Result<json::Value> value = json::parse(record.value);
  if (!value) return foreign(record, value.error().message);
  json::Value* data = value->find("data");
  QueueId queue = queue_in(*value);
  if (data == nullptr || queue.name.empty() || value->string_or("id").empty())
    return foreign(record, "data, id or queue is missing");
  std::shared_ptr<op::Principal> sender;
  if (queue.kind == QueueId::Kind::kNamed) {
    sender = std::make_shared<op::Principal>(op::Principal{.realm = queue.realm, .user = queue.user});
    if (const json::Value* expires = value->find("expires")) {
      if (!expires->as_int()) return foreign(record, "expires is no time");
      sender->expires = *expires->as_int();
    }
    sender->token_id = value->string_or("token");
    const json::Value* permissions = value->find("permissions");
    const json::Array* all = permissions == nullptr ? nullptr : permissions->as_array();
    if (all == nullptr) return foreign(record, "permissions are missing");
    for (const json::Value& each : *all) {
      if (each.as_string() != nullptr) sender->permissions.insert(*each.as_string());
    }
  }
  auto message = std::make_shared<Message>(Message{.seq = *seq,
                                                   .id = value->string_or("id"),
                                                   .function_id = value->string_or("function"),
                                                   .sender = std::move(sender),
                                                   .data = Payload::of_text(json::write(*data)),
                                                   .created = value->int_or("created", 0),
                                                   .not_before = value->int_or("not_before", 0),
                                                   .priority = static_cast<int>(value->int_or("priority", 0)),
                                                   .traceparent = value->string_or("traceparent"),
                                                   .baggage = value->string_or("baggage")});
  if (value->find("group") != nullptr) message->group = value->string_or("group");
  return StoredMessage{.queue = std::move(queue), .message = std::move(message)};
}

Result<> read_attempts(const store::Record& record, Message& message) {
  const Result<json::Value> value = json::parse(record.value);
  if (!value) return foreign(record, value.error().message);
  message.attempts = static_cast<int>(value->int_or("attempts", 0));
  message.error = value->string_or("error");
  message.retry_at = value->int_or("retry_at", 0);
  message.died_at = value->int_or("died_at", 0);
  return {};
}

Result<Subscription> read_subscription(const store::Record& record) {
  Result<json::Value> value = json::parse(record.value);
  if (!value) return foreign(record, value.error().message);
  QueueId id = queue_in(*value);
  json::Value* config = value->find("config");
  if (id.subscriber.empty() || id.name.empty() || config == nullptr)
    return foreign(record, "topic, subscriber or config is missing");
  return Subscription{.id = std::move(id), .config = std::move(*config)};
}

}  // namespace chela::bus::queue
