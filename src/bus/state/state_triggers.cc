#include "bus/state/state_triggers.h"

namespace chela::bus::state {
namespace {

// A text of the configuration; null when it is absent.
const std::string* text_of(const BoundTrigger& trigger, std::string_view key) {
  const json::Value* value = trigger.config.find(key);
  return value == nullptr ? nullptr : value->as_string();
}

std::string payload_of(const StateTriggers::Event& event, const items::Change& change) {
  std::string_view what = "state:updated";
  if (change.before == nullptr) what = "state:created";
  if (change.after == nullptr) what = "state:deleted";
  std::string out = R"({"type":"state","event_type":")";
  (out += what) += R"(","scope":)";
  json::write_string_to(out, event.scope);
  out += R"(,"key":)";
  json::write_string_to(out, event.key);
  out += R"(,"old_value":)";
  out += change.before == nullptr ? "null" : *change.before;
  out += R"(,"new_value":)";
  out += change.after == nullptr ? "null" : *change.after;
  out += '}';
  return out;
}

}  // namespace

Result<> StateTriggers::bind(BoundTriggerPtr trigger) {
  for (const std::string_view key : {"scope", "key"}) {
    const json::Value* value = trigger->config.find(key);
    if (value != nullptr && !value->is_null() && !value->is_string())
      return fail(Code::kInvalidArgument, "the {} of a state trigger is a text, not {}", key,
                  value->type_name());
  }
  Tenant& tenant = tenants_[trigger->tenant];
  const std::string* scope = text_of(*trigger, "scope");
  Bound& bound = scope == nullptr ? tenant.of_all : tenant.by_scope[*scope];
  bound.push_back(std::move(trigger));
  return {};
}

void StateTriggers::release(const BoundTrigger& trigger) {
  const auto tenant = tenants_.find(trigger.tenant);
  if (tenant == tenants_.end()) return;
  const auto is_it = [&trigger](const BoundTriggerPtr& each) { return each->key == trigger.key; };
  std::erase_if(tenant->second.of_all, is_it);
  if (const std::string* scope = text_of(trigger, "scope")) {
    if (const auto bound = tenant->second.by_scope.find(*scope); bound != tenant->second.by_scope.end()) {
      std::erase_if(bound->second, is_it);
      if (bound->second.empty()) tenant->second.by_scope.erase(bound);
    }
  }
  if (tenant->second.of_all.empty() && tenant->second.by_scope.empty()) tenants_.erase(tenant);
}

StateTriggers::Event StateTriggers::about(const items::Address& address) const {
  Event event;
  const auto tenant = tenants_.find(address.tenant);
  if (tenant == tenants_.end()) return event;
  const auto take = [&](const Bound& bound) {
    for (const BoundTriggerPtr& trigger : bound) {
      const std::string* key = text_of(*trigger, "key");
      if (key == nullptr || *key == address.key) event.triggers.push_back(trigger);
    }
  };
  take(tenant->second.of_all);
  if (const auto bound = tenant->second.by_scope.find(address.group); bound != tenant->second.by_scope.end())
    take(bound->second);
  if (!event.triggers.empty()) {
    event.scope = address.group;
    event.key = address.key;
  }
  return event;
}

void StateTriggers::fire(const Event& event, const items::Change& change, std::string_view traceparent,
                         std::string_view baggage) const {
  if (event.triggers.empty()) return;
  const Payload payload = Payload::of_text(payload_of(event, change));
  for (const BoundTriggerPtr& trigger : event.triggers) bus_.fire(trigger, payload, traceparent, baggage);
}

size_t StateTriggers::size() const {
  size_t count = 0;
  for (const auto& [name, tenant] : tenants_) {
    count += tenant.of_all.size();
    for (const auto& [scope, bound] : tenant.by_scope) count += bound.size();
  }
  return count;
}

}  // namespace chela::bus::state
