#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bus/bus.h"
#include "bus/module.h"
#include "bus/provider.h"

namespace chela::bus::pubsub {

// Tells all who listen to a topic, at once and once, and keeps nothing: the function `publish` and the trigger type `subscribe`. Topics
// belong to a user and match exactly. Who does not keep up misses what does not fit.
class PubSub final : public Module, public TriggerProvider {
 public:
  explicit PubSub(Bus& bus) : bus_(bus) {}

  Task<Result<>> start() override;
  Task<> stop() override;
  json::Value status() const override;

  Result<> bind(BoundTriggerPtr trigger) override;
  void release(const BoundTrigger& trigger) override;

  // Fires the triggers of the topic.
  Result<> publish(const std::string& tenant, std::string topic, const Payload& data,
                   std::string_view traceparent, std::string_view baggage);

 private:
  using Topic = std::pair<std::string, std::string>;  // tenant and name

  Bus& bus_;
  std::map<Topic, std::vector<BoundTriggerPtr>> topics_;
  bool stopped_ = false;
};

// "modules::pubsub::PubSubModule", "iii-pubsub"
ModuleKind kind();

}  // namespace chela::bus::pubsub
