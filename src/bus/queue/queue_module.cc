#include "bus/queue/queue_module.h"

#include "bus/adapter_config.h"
#include "bus/bridge/bridged_module.h"
#include "bus/config_reader.h"
#include "bus/queue/queue_functions.h"
#include "runtime/asio_loop.h"

namespace chela::bus::queue {
namespace {

constexpr std::string_view kTopics[] = {"queue", "durable:subscriber"};
constexpr std::string_view kFile = "queues.db";

// The trigger types of a topic are two names of one thing.
constexpr std::string_view kTriggerFormat =
    R"({"type":"object","properties":{"topic":{"type":"string"},"queue":{"type":"string"},)"
    R"("condition_function_id":{"type":"string"},"queue_config":{"type":"object"}}})";

Result<> read_adapter(const json::Value& config, ModuleSettings& out) {
  ConfigReader reader("queue: adapter: config", config);
  constexpr std::string_view kMethods[] = {"in_memory", "file_based"};
  if (reader.choice("store_method", kMethods) == "file_based") out.file_path = "";
  const std::string path = reader.text("file_path", "queue_store");
  if (out.file_path) out.file_path = path;
  // Everything is written at once and nothing polls: these two are upper bounds that are kept.
  reader.integer("save_interval_ms", 5000, 1, 86'400'000);
  reader.integer("poll_interval_ms", 100, 1, 86'400'000);
  Policy& topics = out.queues.topics;
  topics.max_attempts =
      static_cast<int>(reader.integer("max_attempts", topics.max_attempts, 1, kMaxAttempts));
  topics.backoff = std::chrono::milliseconds(reader.integer("backoff_ms", topics.backoff.count(), 1,
                                                            std::chrono::milliseconds(kMaxBackoff).count()));
  topics.concurrency = static_cast<size_t>(
      reader.integer("concurrency", static_cast<std::int64_t>(topics.concurrency), 1, kMaxConcurrency));
  constexpr std::string_view kModes[] = {"concurrent", "fifo"};
  if (reader.choice("mode", kModes) == "fifo") topics.order = Policy::Order::kFifo;
  return reader.finish();
}

TriggerType trigger_type(std::string_view name) {
  return {.id = std::string(name),
          .description = "a message was published on a durable topic",
          .trigger_format = std::string(kTriggerFormat)};
}

bridge::Bridged bridged() {
  bridge::Bridged all{.module = "queue",
                      .functions = {std::begin(kQueueFunctions), std::end(kQueueFunctions)},
                      .delivery = bridge::RemoteTriggers::Delivery::kHandled};
  for (const std::string_view type : kTopics) all.trigger_types.push_back(trigger_type(type));
  return all;
}

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  constexpr std::string_view kBridges[] = {"bridge"};
  if (bridge::wants_bridge(config, kBridges)) return bridge::make_bridged(parts, config, bridged());
  Result<ModuleSettings> settings = read_settings(config);
  if (!settings) return fail(settings.error());
  OpenStore open;
  if (settings->file_path)
    open = [records = parts.open_records, file = parts.directory / *settings->file_path / kFile] {
      return records(file);
    };
  return std::make_unique<QueueModule>(
      parts.bus,
      std::make_unique<Queues>(parts.loop, parts.bus, parts.metrics, parts.ids, std::move(settings->queues),
                               Limits{}, parts.restore_rights),
      std::move(open));
}

}  // namespace

Result<ModuleSettings> read_settings(const json::Value& config) {
  constexpr std::string_view kOwn[] = {"modules::queue::BuiltinQueueAdapter", "builtin", "bridge"};
  constexpr std::string_view kForeign[] = {"modules::queue::RedisAdapter", "modules::queue::RabbitMQAdapter",
                                           "redis", "rabbitmq"};
  ModuleSettings out;
  ConfigReader reader("queue", config);
  const Result<json::Value> adapter = adapter_config(reader, {.own = kOwn, .foreign = kForeign});
  if (!adapter) return fail(adapter.error());
  if (const Result<> good = read_adapter(*adapter, out); !good) return fail(good.error());
  out.queues.named.emplace("default", Policy{});
  if (const json::Value* named = reader.value("queue_configs"); named != nullptr && !named->is_null()) {
    const json::Object* all = named->as_object();
    if (all == nullptr)
      return fail(Code::kInvalidArgument, "queue: queue_configs: must be a mapping of names");
    for (const json::Member& each : *all) {
      if (each.key.empty() || each.key.size() > kMaxNameBytes)
        return fail(Code::kInvalidArgument, "queue_configs: a name must have 1 to {} bytes", kMaxNameBytes);
      Result<Policy> policy = Policy::of_named(each.key, each.value, {});
      if (!policy) return fail(policy.error());
      out.queues.named.insert_or_assign(each.key, std::move(*policy));
    }
  }
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return out;
}

Task<Result<>> QueueModule::start() {
  std::unique_ptr<store::Records> records;
  if (open_) {
    Result<std::unique_ptr<store::Records>> opened = co_await open_();
    if (!opened) co_return fail(opened.error());
    records = std::move(*opened);
  }
  if (Result<> loaded = co_await queues_->open(std::move(records)); !loaded) co_return loaded;
  if (Result<> added = add_queue_functions(bus_, *queues_); !added) co_return added;
  for (const std::string_view type : kTopics) {
    if (Result<> added = bus_.add_trigger_type(trigger_type(type), *this); !added) co_return added;
  }
  bus_.watch_functions([queues = queues_.get()] { queues->functions_changed(); });
  bus_.set_enqueuer(*this);
  co_return Result<>{};
}

Task<> QueueModule::stop() { return queues_->stop(); }

json::Value QueueModule::status() const {
  return json::Value::object({{"queues", queues_->size()},
                              {"messages", queues_->messages()},
                              {"running", queues_->running()},
                              {"bytes", queues_->bytes()},
                              {"durable", static_cast<bool>(open_)}});
}

Result<> QueueModule::bind(BoundTriggerPtr trigger) { return queues_->subscribe(std::move(trigger)); }

void QueueModule::release(const BoundTrigger& trigger) { queues_->unsubscribe(trigger); }

Task<Result<std::string>> QueueModule::enqueue(op::CallContext context, EnqueueRequest request) {
  return queues_->enqueue(std::move(context.principal), std::move(request), "");
}

ModuleKind kind() { return {.names = {"modules::queue::QueueModule", "iii-queue"}, .make = make}; }

}  // namespace chela::bus::queue
