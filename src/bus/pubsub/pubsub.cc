#include "bus/pubsub/pubsub.h"

#include <algorithm>

#include "bus/adapter_config.h"
#include "bus/bridge/bridged_module.h"
#include "bus/config_reader.h"
#include "bus/pubsub/limits.h"

namespace chela::bus::pubsub {
namespace {

Task<Result<json::Value>> run_publish(PubSub& pubsub, LocalCall call) {
  const json::Value* data = call.data.find("data");
  const Payload payload(data == nullptr ? json::Value() : *data);
  const Result<> done = pubsub.publish(viewer_of(call.context.principal).tenant, call.data.string_or("topic"),
                                       payload, call.traceparent, call.baggage);
  if (!done) co_return fail(done.error());
  co_return json::Value();
}

TriggerType trigger_type() {
  return {.id = "subscribe",
          .description = "a message was published on a topic",
          .trigger_format = R"({"type":"object","properties":{"topic":{"type":"string"},)"
                            R"("condition_function_id":{"type":"string"}},"required":["topic"]})"};
}

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  constexpr std::string_view kOwn[] = {"modules::pubsub::LocalAdapter", "local", "bridge"};
  constexpr std::string_view kForeign[] = {"modules::pubsub::RedisAdapter", "redis"};
  constexpr std::string_view kBridges[] = {"bridge"};
  if (bridge::wants_bridge(config, kBridges))
    return bridge::make_bridged(
        parts, config, {.module = "pubsub", .functions = {"publish"}, .trigger_types = {trigger_type()}});
  ConfigReader reader("pubsub", config);
  const Result<json::Value> adapter = adapter_config(reader, {.own = kOwn, .foreign = kForeign});
  if (!adapter) return fail(adapter.error());
  if (const Result<> good = ConfigReader("pubsub: adapter: config", *adapter).finish(); !good)
    return fail(good.error());
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return std::make_unique<PubSub>(parts.bus);
}

}  // namespace

Task<Result<>> PubSub::start() {
  Result<> added = bus_.add(
      {.spec = {.id = "publish",
                .description = "Tells all subscribers of a topic, at once and once",
                .request_format = R"({"type":"object","properties":{"topic":{"type":"string"},"data":{}},)"
                                  R"("required":["topic"]})",
                .response_format = "",
                .metadata = ""},
       .handler = [this](LocalCall call) { return run_publish(*this, std::move(call)); }});
  if (!added) co_return added;
  co_return bus_.add_trigger_type(trigger_type(), *this);
}

Task<> PubSub::stop() {
  stopped_ = true;
  topics_.clear();
  co_return;
}

json::Value PubSub::status() const { return json::Value::object({{"topics", topics_.size()}}); }

Result<> PubSub::bind(BoundTriggerPtr trigger) {
  std::string name = trigger->config.string_or("topic");
  if (name.empty() || name.size() > kMaxTopicBytes)
    return fail(Code::kInvalidArgument, "a subscription needs a topic of 1 to {} bytes", kMaxTopicBytes);
  std::vector<BoundTriggerPtr>& all = topics_[{trigger->tenant, std::move(name)}];
  if (all.size() >= kMaxSubscribers)
    return fail(Code::kTooLarge, "a topic has {} subscribers at most", kMaxSubscribers);
  all.push_back(std::move(trigger));
  return {};
}

void PubSub::release(const BoundTrigger& trigger) {
  const auto topic = topics_.find({trigger.tenant, trigger.config.string_or("topic")});
  if (topic == topics_.end()) return;
  std::erase_if(topic->second, [&trigger](const BoundTriggerPtr& each) { return each->key == trigger.key; });
  if (topic->second.empty()) topics_.erase(topic);
}

Result<> PubSub::publish(const std::string& tenant, std::string topic, const Payload& data,
                         std::string_view traceparent, std::string_view baggage) {
  if (stopped_) return fail(Code::kUnavailable, "the engine stops");
  if (topic.empty())
    return fail(
        Error{.code = Code::kInvalidArgument, .message = "publish needs a topic that is not empty"}.with(
            "bus_code", "topic_not_set"));
  const auto found = topics_.find({tenant, std::move(topic)});
  if (found == topics_.end()) return {};
  // A copy: what is fired may bring triggers and end them.
  const std::vector<BoundTriggerPtr> all = found->second;
  for (const BoundTriggerPtr& trigger : all) bus_.fire(trigger, data, traceparent, baggage);
  return {};
}

ModuleKind kind() { return {.names = {"modules::pubsub::PubSubModule", "iii-pubsub"}, .make = make}; }

}  // namespace chela::bus::pubsub
