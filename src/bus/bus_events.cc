#include <algorithm>
#include <tuple>

#include "bus/bus.h"
#include "bus/engine_functions.h"

namespace chela::bus {

// Registrations and workers come in bursts, and what is called for an event may make the next one: all that happens within a delay is
// told together, from the loop, so that no cycle of triggers runs faster than once a delay.
void Bus::tell_later() {
  if (events_timer_ || stopping_) return;
  events_timer_ = loop_.call_at(loop_.clock().steady() + kEventsDelay, [this] {
    events_timer_.reset();
    tell_events();
  });
}

void Bus::functions_changed() {
  functions_changed_ = true;
  for (const std::function<void()>& watcher : function_watchers_) watcher();
  tell_later();
}

void Bus::worker_event(std::string_view event, const Worker& worker) {
  const auto same = [&](const WorkerEvent& each) { return each.event == event && each.worker == worker.id; };
  if (worker_events_.size() > kMaxWorkerEvents || std::ranges::any_of(worker_events_, same)) return;
  if (worker_events_.size() == kMaxWorkerEvents) {
    worker_events_.push_back({.event = "workers_changed"});
  } else {
    worker_events_.push_back({.event = std::string(event), .worker = worker.id, .view = worker.view});
  }
  tell_later();
}

void Bus::tell_events() {
  for (const WorkerEvent& each : std::exchange(worker_events_, {})) {
    fire_all("engine::workers-available", [&each](const Worker& owner) {
      json::Value out = json::Value::object({{"event", each.event}});
      if (!each.worker.empty() && sees(owner.view, each.view)) out.set("worker_id", each.worker);
      return out;
    });
  }
  if (!std::exchange(functions_changed_, false)) return;
  fire_all("engine::functions-available", [this](const Worker& owner) {
    json::Value out = json::Value::object({{"event", "functions_changed"}});
    out.set("functions", function_rows(*this, owner, Internal::kHide));
    return out;
  });
}

// Fires all triggers of a type of the bus itself, each with what its owner may see.
void Bus::fire_all(std::string_view type, const std::function<json::Value(const Worker&)>& payload) {
  std::vector<BoundTriggerPtr> bound;  // copies: what is called may change the triggers
  for (const Trigger* trigger : triggers_.select([type](const Trigger& each) {
         return each.type == type && each.state == Trigger::State::kBound && each.bound;
       })) {
    bound.push_back(trigger->bound);
  }
  std::map<std::tuple<std::string, bool, SessionPtr>, Payload> payloads;  // by who looks
  for (const BoundTriggerPtr& trigger : bound) {
    if (stopping_) return;
    const Worker& owner = *trigger->owner;
    std::tuple key(owner.view.tenant, owner.view.sees_all, owner.session);
    auto at = payloads.find(key);
    if (at == payloads.end()) at = payloads.emplace(std::move(key), payload(owner)).first;
    fire(trigger, at->second);
  }
}

}  // namespace chela::bus
