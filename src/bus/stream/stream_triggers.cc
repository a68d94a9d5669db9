#include "bus/stream/stream_triggers.h"

#include "bus/stream/limits.h"
#include "obs/log.h"

namespace chela::bus::stream {
namespace {

constexpr std::string_view kChange = "stream";
constexpr std::string_view kJoin = "stream:join";
constexpr std::string_view kLeave = "stream:leave";

// Whether the configuration wants this text, or any.
bool wants(const BoundTrigger& trigger, std::string_view key, std::string_view text) {
  const json::Value* value = trigger.config.find(key);
  return value == nullptr || value->as_string() == nullptr || *value->as_string() == text;
}

}  // namespace

Result<> StreamTriggers::add_types() {
  constexpr std::string_view kSubscription =
      R"({"type":"object","properties":{"stream_name":{"type":"string"},"condition_function_id":{"type":"string"}}})";
  constexpr std::string_view kEvent =
      R"({"type":"object","properties":{"subscription_id":{"type":"string"},"stream_name":{"type":"string"},)"
      R"("group_id":{"type":"string"},"id":{},"context":{}}})";
  Result<> done = bus_.add_trigger_type(
      {.id = std::string(kChange),
       .description = "a value of a stream was created, updated or deleted",
       .trigger_format =
           R"({"type":"object","properties":{"stream_name":{"type":"string"},"group_id":{"type":"string"},)"
           R"("item_id":{"type":"string"},"condition_function_id":{"type":"string"}},"required":["stream_name"]})",
       .call_format =
           R"({"type":"object","properties":{"type":{"const":"stream"},"timestamp":{"type":"integer"},)"
           R"("streamName":{"type":"string"},"groupId":{"type":"string"},"id":{},"event":{"type":"object"}}})"},
      *this);
  if (done)
    done = bus_.add_trigger_type(
        {.id = std::string(kJoin),
         .description = "a socket wants to hear of a stream; {unauthorized: true} refuses it",
         .trigger_format = std::string(kSubscription),
         .call_format = std::string(kEvent)},
        *this);
  if (done)
    done = bus_.add_trigger_type({.id = std::string(kLeave),
                                  .description = "a socket no longer hears of a stream",
                                  .trigger_format = std::string(kSubscription),
                                  .call_format = std::string(kEvent)},
                                 *this);
  return done;
}

StreamTriggers::Key StreamTriggers::key_of(const BoundTrigger& trigger) {
  return {trigger.type, trigger.tenant, trigger.config.string_or("stream_name")};
}

Result<> StreamTriggers::bind(BoundTriggerPtr trigger) {
  for (const std::string_view key : {"stream_name", "group_id", "item_id"}) {
    const json::Value* value = trigger->config.find(key);
    if (value != nullptr && !value->is_null() && !value->is_string())
      return fail(Code::kInvalidArgument, "the {} of a {} trigger is a text, not {}", key, trigger->type,
                  value->type_name());
  }
  if (trigger->type == kChange && trigger->config.string_or("stream_name").empty())
    return fail(Code::kInvalidArgument, "a stream trigger needs a stream_name");
  std::vector<BoundTriggerPtr>& bound = bound_[key_of(*trigger)];
  if (bound.size() >= kMaxStreamTriggers)
    return fail(Code::kTooLarge, "a stream has {} {} triggers at most", kMaxStreamTriggers, trigger->type);
  if (interest_ != nullptr && trigger->type == kChange)
    interest_->heard(trigger->config.string_or("stream_name"));
  bound.push_back(std::move(trigger));
  return {};
}

void StreamTriggers::release(const BoundTrigger& trigger) {
  const auto found = bound_.find(key_of(trigger));
  if (found == bound_.end()) return;
  const size_t ended = std::erase_if(
      found->second, [&trigger](const BoundTriggerPtr& each) { return each->key == trigger.key; });
  if (found->second.empty()) bound_.erase(found);
  if (interest_ != nullptr && ended > 0 && trigger.type == kChange)
    interest_->unheard(trigger.config.string_or("stream_name"));
}

std::vector<BoundTriggerPtr> StreamTriggers::of_change(const Place& place, std::string_view item) const {
  std::vector<BoundTriggerPtr> all;
  if (bound_.empty()) return all;
  const auto found = bound_.find(Key(kChange, place.tenant, place.stream));
  if (found == bound_.end()) return all;
  for (const BoundTriggerPtr& each : found->second) {
    if (wants(*each, "group_id", place.group) && wants(*each, "item_id", item)) all.push_back(each);
  }
  return all;
}

std::vector<BoundTriggerPtr> StreamTriggers::of_subscription(std::string_view type,
                                                             const Place& place) const {
  std::vector<BoundTriggerPtr> all;
  for (const std::string_view stream : {std::string_view(), std::string_view(place.stream)}) {
    const auto found = bound_.find(Key(type, place.tenant, stream));
    if (found != bound_.end()) all.insert(all.end(), found->second.begin(), found->second.end());
    if (place.stream.empty()) break;
  }
  return all;
}

Task<bool> StreamTriggers::may_join(Place place, Payload payload, std::stop_token stop) {
  for (const BoundTriggerPtr& trigger : of_subscription(kJoin, place)) {
    const Result<bool> met = co_await bus_.condition_met(trigger, payload);
    if (met && !*met) continue;
    Result<json::Value> said;
    if (met) {
      const SteadyTime latest = bus_.clock().steady() + kJoinTimeout;
      said = co_await bus_.run_trigger(trigger, payload, {.deadline = latest, .stop = stop});
    } else {
      said = fail(met.error());
    }
    if (!said) {
      log::warn(
          "bus", "a subscription is refused: the trigger that decides about it failed",
          {{"stream", place.stream}, {"function", trigger->function_id}, {"error", said.error().message}});
      co_return false;
    }
    if (said->bool_or("unauthorized", false)) co_return false;
  }
  co_return true;
}

void StreamTriggers::left(const Place& place, const Payload& payload) {
  for (const BoundTriggerPtr& trigger : of_subscription(kLeave, place)) bus_.fire(trigger, payload);
}

size_t StreamTriggers::size() const {
  size_t count = 0;
  for (const auto& [key, all] : bound_) count += all.size();
  return count;
}

}  // namespace chela::bus::stream
