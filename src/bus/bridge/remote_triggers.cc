#include "bus/bridge/remote_triggers.h"

#include <algorithm>

#include "crypto/hash.h"

namespace chela::bus::bridge {
namespace {

// What the other engine is to know of the trigger's configuration: conditions are functions of this engine.
json::Value config_there(const BoundTrigger& trigger) {
  json::Value config = json::Value::object();
  for (const json::Member& each : *trigger.config.as_object()) {
    if (each.key != "condition_function_id" && each.key != "_condition_path")
      config.set(each.key, each.value);
  }
  return config;
}

// The same after a restart, so that what a queue keeps for it finds it again.
std::string function_there(const BoundTrigger& trigger) {
  constexpr size_t kShown = 96;
  constexpr size_t kDigits = 16;
  const std::string all = fmt::format("{}\n{}\n{}\n{}", trigger.type, trigger.function_id,
                                      json::write(trigger.config), json::write(trigger.metadata));
  return fmt::format("bridge::{}::{}", trigger.function_id.substr(0, kShown),
                     crypto::sha256_hex(all).substr(0, kDigits));
}

}  // namespace

Result<> RemoteTriggers::bind(BoundTriggerPtr trigger) {
  const std::string function_id = function_there(*trigger);
  Shared& shared = shared_[function_id];
  if (shared.here.empty())
    remote_.provide(function_id, fmt::format("fires {} of another engine", trigger->function_id),
                    [this, function_id](ServedCall call) { return handle(function_id, std::move(call)); });
  if (shared.trigger_id.empty()) {
    shared.trigger_id = ids_.next();
    remote_.bind({.id = shared.trigger_id,
                  .type = trigger->type,
                  .function_id = function_id,
                  .config = config_there(*trigger)});
  }
  std::erase(kept_, function_id);
  shared.here.push_back(std::move(trigger));
  return {};
}

void RemoteTriggers::release(const BoundTrigger& trigger) {
  const std::string function_id = function_there(trigger);
  const auto found = shared_.find(function_id);
  if (found == shared_.end()) return;
  std::erase_if(found->second.here, [&](const BoundTriggerPtr& each) { return each->key == trigger.key; });
  if (!found->second.here.empty()) return;
  const bool gone = trigger.owner->link == nullptr;
  remote_.withdraw(function_id);
  if (gone && delivery_ == Delivery::kHandled) return keep(function_id);
  remote_.release(found->second.trigger_id);
  shared_.erase(found);
}

// The worker will be back: without the function its messages wait there, without the trigger they would miss it.
void RemoteTriggers::keep(const std::string& function_id) {
  kept_.push_back(function_id);
  if (kept_.size() <= kMaxKeptTriggers) return;
  const auto oldest = shared_.find(kept_.front());
  kept_.pop_front();
  if (oldest == shared_.end()) return;
  remote_.release(oldest->second.trigger_id);
  shared_.erase(oldest);
}

Task<Result<std::string>> RemoteTriggers::handle(std::string function_id, ServedCall call) {
  const auto found = shared_.find(function_id);
  if (found == shared_.end() || found->second.here.empty())
    co_return fail(Code::kUnavailable, "the trigger's worker has gone");
  const Payload payload = Payload::of_text(std::move(call.data));
  if (delivery_ == Delivery::kTold) {
    // A copy: what is fired may bring triggers and end them.
    const std::vector<BoundTriggerPtr> all = found->second.here;
    for (const BoundTriggerPtr& each : all) bus_.fire(each, payload, call.traceparent, call.baggage);
    co_return std::string();
  }
  const BoundTriggerPtr trigger = found->second.here.front();
  const FireOptions options{.stop = call.stop, .traceparent = call.traceparent, .baggage = call.baggage};
  const Result<bool> wanted = co_await bus_.condition_met(trigger, payload, options);
  if (!wanted) co_return fail(wanted.error());
  if (!*wanted) co_return std::string();
  const Result<json::Value> done = co_await bus_.run_trigger(trigger, payload, options);
  if (!done) co_return fail(done.error());
  co_return std::string();
}

}  // namespace chela::bus::bridge
