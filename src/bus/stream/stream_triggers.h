#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bus/bus.h"
#include "bus/provider.h"
#include "bus/stream/event.h"
#include "bus/stream/interest.h"

namespace chela::bus::stream {

// The triggers of streams: `stream` {stream_name, group_id?, item_id?} for changes of values, `stream:join` and `stream:leave`
// {stream_name?} for subscriptions; each with condition_function_id. Loop thread only.
class StreamTriggers final : public TriggerProvider {
 public:
  explicit StreamTriggers(Bus& bus) : bus_(bus) {}

  Result<> add_types();
  // Null when nobody wants to know; must outlive the triggers.
  void tell_interest(Interest* interest) { interest_ = interest; }
  Result<> bind(BoundTriggerPtr trigger) override;
  void release(const BoundTrigger& trigger) override;

  // A value was changed: what `stream` triggers hear of.
  std::vector<BoundTriggerPtr> of_change(const Place& place, std::string_view item) const;

  // What all triggers about joins say; one that fails, or does not answer in kJoinTimeout, says no.
  Task<bool> may_join(Place place, Payload payload, std::stop_token stop);
  void left(const Place& place, const Payload& payload);

  size_t size() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // type, tenant, stream name or ""
  static Key key_of(const BoundTrigger& trigger);
  std::vector<BoundTriggerPtr> of_subscription(std::string_view type, const Place& place) const;

  Bus& bus_;
  Interest* interest_ = nullptr;
  std::map<Key, std::vector<BoundTriggerPtr>> bound_;
};

}  // namespace chela::bus::stream
