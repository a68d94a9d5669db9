#include "bus/queue/queue_functions.h"

#include <algorithm>

namespace chela::bus::queue {
namespace {

using json::Value;
using QueueList = std::vector<std::shared_ptr<Queue>>;

constexpr std::string_view kBroker = "builtin";
constexpr std::int64_t kDefaultPage = 50;

Failure refuse(std::string_view bus_code, std::string message) {
  return fail(Error{.code = Code::kInvalidArgument, .message = std::move(message)}.with(
      "bus_code", std::string(bus_code)));
}

Failure with_code(Error error, std::string_view bus_code) {
  return fail(std::move(error).with("bus_code", std::string(bus_code)));
}

struct Named {
  std::string name;
  Queues::Prefer prefer;
};
// `queue` or `topic`, whichever is there.
Named name_in(const Value& data, std::string_view first) {
  const std::string_view second = first == "queue" ? "topic" : "queue";
  std::string name = data.string_or(first);
  std::string_view key = first;
  if (name.empty()) {
    name = data.string_or(second);
    key = second;
  }
  return {.name = std::move(name),
          .prefer = key == "queue" ? Queues::Prefer::kNamed : Queues::Prefer::kTopic};
}

Task<Result<Value>> publish(Queues& queues, LocalCall call) {
  Named topic = name_in(call.data, "topic");
  if (topic.name.empty()) co_return refuse("topic_not_set", "publishing needs a topic that is not empty");
  if (topic.name.size() > kMaxNameBytes)
    co_return refuse("enqueue_error", fmt::format("a topic has {} bytes at most", kMaxNameBytes));
  Value* data = call.data.find("data");
  const Result<> done = co_await queues.publish(std::move(call.context.principal), std::move(topic.name),
                                                data == nullptr ? Value() : std::move(*data),
                                                std::move(call.traceparent), std::move(call.baggage));
  if (!done) co_return with_code(done.error(), "enqueue_error");
  co_return Value();
}

// A trace context that the data brings; one that is too long is dropped, as it is from a frame.
std::string trace_in(const Value& data, std::string_view key, const std::string& own) {
  std::string trace = data.string_or(key, own);
  return trace.size() <= kMaxTraceBytes ? trace : std::string();
}

Task<Result<Value>> enqueue(Queues& queues, LocalCall call) {
  std::string queue = call.data.string_or("queue");
  std::string function_id = call.data.string_or("function_id");
  std::string id = call.data.string_or("messageReceiptId");
  if (queue.empty()) co_return refuse("queue_not_set", "enqueueing needs a queue");
  if (function_id.empty() || function_id.size() > kMaxIdBytes)
    co_return refuse("enqueue_error",
                     fmt::format("enqueueing needs a function_id of 1 to {} bytes", kMaxIdBytes));
  if (id.size() > kMaxIdBytes)
    co_return refuse("enqueue_error", fmt::format("a messageReceiptId has {} bytes at most", kMaxIdBytes));
  if (call.caller && only_lent(*call.caller, call.context.principal))
    co_return with_code(Error{.code = Code::kPermissionDenied,
                              .message = fmt::format(
                                  "the rights of {} are lent for the call that is served; enqueueing in its "
                                  "name needs the permission {}",
                                  call.context.principal.user, kDelegatePermission)},
                        "FORBIDDEN");
  Value* data = call.data.find("data");
  EnqueueRequest request{.queue = std::move(queue),
                         .function_id = std::move(function_id),
                         .data = data == nullptr ? Value() : std::move(*data),
                         .traceparent = trace_in(call.data, "traceparent", call.traceparent),
                         .baggage = trace_in(call.data, "baggage", call.baggage)};
  Result<std::string> receipt =
      co_await queues.enqueue(std::move(call.context.principal), std::move(request), std::move(id));
  if (!receipt) co_return with_code(receipt.error(), "enqueue_error");
  co_return Value::object({{"messageReceiptId", std::move(*receipt)}});
}

// The dead of a queue, or of all subscribers of a topic; all of them or those with one id.
Task<Result<Value>> on_dead(Queues& queues, LocalCall call, std::string what) {
  const Named named = name_in(call.data, "queue");
  const std::string message_id = call.data.string_or("message_id");
  const bool one = what != "redrive";
  const std::string code = what + "_failed";
  if (named.name.empty()) co_return refuse("queue_not_set", what + " needs a queue or a topic");
  if (one && message_id.empty()) co_return refuse("message_id_not_set", what + " needs a message_id");
  const QueueList found = queues.find(call.context.principal, named.name, named.prefer);
  if (found.empty()) co_return refuse(code, fmt::format("there is no queue or topic '{}'", named.name));
  size_t count = 0;
  for (const std::shared_ptr<Queue>& queue : found) {
    std::vector<MessagePtr> dead;
    if (!one) dead = queue->all_dead();
    if (one) {
      if (MessagePtr message = queue->find_dead(message_id)) dead.push_back(std::move(message));
    }
    if (dead.empty()) continue;
    const auto fate = what == "discard_message" ? Queue::Fate::kDiscard : Queue::Fate::kRedrive;
    const Result<size_t> done = co_await queue->take_dead(std::move(dead), fate);
    if (!done) co_return with_code(done.error(), code);
    count += *done;
  }
  if (one && count == 0)
    co_return refuse(code, fmt::format("'{}' has no dead message '{}'", named.name, message_id));
  Value out = Value::object({{"queue", named.name}});
  if (one) out.set("message_id", message_id);
  out.set("redriven", count);
  co_return out;
}

// By name: a topic's subscribers are one.
std::map<std::pair<QueueId::Kind, std::string>, QueueList> by_name(Queues& queues,
                                                                   const op::Principal& owner) {
  std::map<std::pair<QueueId::Kind, std::string>, QueueList> all;
  for (std::shared_ptr<Queue>& queue : queues.all_of(owner)) {
    const std::pair<QueueId::Kind, std::string> name(queue->id().kind, queue->id().name);
    all[name].push_back(std::move(queue));
  }
  return all;
}

// Named queues are served by the engine itself; of a topic those count who get new messages.
size_t consumers(const Queues& queues, const QueueList& list) {
  return static_cast<size_t>(
      std::ranges::count_if(list, [&](const std::shared_ptr<Queue>& each) { return queues.accepts(*each); }));
}

size_t dead_in(const QueueList& list) {
  size_t count = 0;
  for (const std::shared_ptr<Queue>& each : list) count += each->dead_count();
  return count;
}

std::string_view kind_name(QueueId::Kind kind) { return kind == QueueId::Kind::kNamed ? "queue" : "topic"; }

Task<Result<Value>> list_topics(Queues& queues, LocalCall call) {
  Value rows = Value::array();
  for (const auto& [name, list] : by_name(queues, call.context.principal)) {
    rows.push_back(Value::object({{"name", name.second},
                                  {"kind", kind_name(name.first)},
                                  {"broker_type", kBroker},
                                  {"subscriber_count", consumers(queues, list)}}));
  }
  co_return rows;
}

Result<QueueList> list_in(Queues& queues, const LocalCall& call) {
  const Named named = name_in(call.data, "topic");
  if (named.name.empty()) return refuse("topic_required", "a topic or a queue must be named");
  return queues.find(call.context.principal, named.name, named.prefer);
}

Task<Result<Value>> topic_stats(Queues& queues, LocalCall call) {
  const Result<QueueList> list = list_in(queues, call);
  if (!list) co_return fail(list.error());
  size_t depth = 0;
  size_t running = 0;
  Value config;
  for (const std::shared_ptr<Queue>& each : *list) {
    depth += each->depth();
    running += each->running();
    if (config.is_null()) config = each->policy().to_json();
  }
  co_return Value::object({{"depth", depth},
                           {"running", running},
                           {"consumer_count", consumers(queues, *list)},
                           {"dlq_depth", dead_in(*list)},
                           {"config", std::move(config)}});
}

Task<Result<Value>> dlq_topics(Queues& queues, LocalCall call) {
  Value rows = Value::array();
  for (const auto& [name, list] : by_name(queues, call.context.principal)) {
    const size_t count = dead_in(list);
    if (count == 0) continue;
    rows.push_back(Value::object({{"topic", name.second},
                                  {"kind", kind_name(name.first)},
                                  {"broker_type", kBroker},
                                  {"message_count", count}}));
  }
  co_return rows;
}

Task<Result<Value>> dlq_messages(Queues& queues, LocalCall call) {
  const Result<QueueList> list = list_in(queues, call);
  if (!list) co_return fail(list.error());
  std::int64_t skip = std::max<std::int64_t>(call.data.int_or("offset", 0), 0);
  std::int64_t left = std::clamp<std::int64_t>(call.data.int_or("limit", kDefaultPage), 0, kMaxListed);
  Value rows = Value::array();
  size_t bytes = 0;
  for (const std::shared_ptr<Queue>& queue : *list) {
    for (const auto& [seq, message] : queue->dead()) {
      if (skip-- > 0) continue;
      if (left-- <= 0) co_return rows;
      bytes += message->bytes();
      if (bytes > kMaxListedBytes && !rows.as_array()->empty()) co_return rows;
      Value row = Value::object({{"id", message->id},
                                 {"payload", json::parse(message->data.text()).value_or(Value())},
                                 {"error", message->error},
                                 {"failed_at", message->died_at / 1000},
                                 {"retries", message->attempts},
                                 {"size_bytes", message->data.text().size()}});
      const std::string& function =
          queue->id().subscriber.empty() ? message->function_id : queue->id().subscriber;
      row.set("function_id", function);
      rows.push_back(std::move(row));
    }
  }
  co_return rows;
}

}  // namespace

Result<> add_queue_functions(Bus& bus, Queues& queues) {
  using Handler = std::function<Task<Result<Value>>(LocalCall)>;
  struct Row {
    std::string_view id;
    std::string_view help;
    Handler handler;
  };
  const auto on = [&queues](Task<Result<Value>> (*run)(Queues&, LocalCall)) -> Handler {
    return [&queues, run](LocalCall call) { return run(queues, std::move(call)); };
  };
  const auto dead = [&queues](std::string what) -> Handler {
    return
        [&queues, what = std::move(what)](LocalCall call) { return on_dead(queues, std::move(call), what); };
  };
  constexpr std::string_view kPublish = "Gives a message to every subscriber of a durable topic";
  const Row rows[] = {
      {"enqueue", kPublish, on(publish)},
      {"iii::durable::publish", kPublish, on(publish)},
      {"iii::queue::redrive", "Puts all dead messages of a queue or topic back to work", dead("redrive")},
      {"iii::queue::redrive_message", "Puts one dead message back to work", dead("redrive_message")},
      {"iii::queue::discard_message", "Throws one dead message away", dead("discard_message")},
      {"engine::queue::enqueue", "Puts a call into a named queue", on(enqueue)},
      {"engine::queue::list_topics", "Lists named queues and durable topics", on(list_topics)},
      {"engine::queue::topic_stats", "Tells how many messages of a queue or topic wait and are dead",
       on(topic_stats)},
      {"engine::queue::dlq_topics", "Lists queues and topics with dead messages", on(dlq_topics)},
      {"engine::queue::dlq_messages", "Lists dead messages", on(dlq_messages)},
  };
  for (const Row& row : rows) {
    Result<> added = bus.add(
        {.spec = {.id = std::string(row.id), .description = std::string(row.help)}, .handler = row.handler});
    if (!added) return added;
  }
  return {};
}

}  // namespace chela::bus::queue
