#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bus/bus.h"
#include "bus/items/items.h"
#include "bus/provider.h"

namespace chela::bus::state {

// The triggers that changes of values fire: type `state`, configuration {scope?, key?, condition_function_id?}. Loop thread only.
class StateTriggers final : public TriggerProvider {
 public:
  explicit StateTriggers(Bus& bus) : bus_(bus) {}

  Result<> bind(BoundTriggerPtr trigger) override;
  void release(const BoundTrigger& trigger) override;

  // What a change will fire.
  struct Event {
    std::vector<BoundTriggerPtr> triggers = {};  // none: there is nothing to do
    std::string scope = {};
    std::string key = {};
  };
  Event about(const items::Address& address) const;
  // The change is there to stay.
  void fire(const Event& event, const items::Change& change, std::string_view traceparent,
            std::string_view baggage) const;

  size_t size() const;

 private:
  using Bound = std::vector<BoundTriggerPtr>;
  struct Tenant {
    Bound of_all;  // without a scope
    std::map<std::string, Bound, std::less<>> by_scope;
  };

  Bus& bus_;
  std::map<std::string, Tenant, std::less<>> tenants_;
};

}  // namespace chela::bus::state
