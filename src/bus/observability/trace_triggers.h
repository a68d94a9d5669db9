#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bus/bus.h"
#include "bus/provider.h"

namespace chela::bus::observability {

// The trigger type `trace` {service_name?, status?}: its function is called with {trace_ids} of the spans that have ended. What happens
// within kTellDelay is told together. Calls of such a function are told to nobody: they would be the news of themselves. Loop thread only.
class TraceTriggers final : public TriggerProvider {
 public:
  TraceTriggers(Bus& bus, runtime::EventLoop& loop) : bus_(bus), loop_(loop) {}
  ~TraceTriggers() override { stop(); }

  Result<> add_type();
  void stop();

  Result<> bind(BoundTriggerPtr trigger) override;
  void release(const BoundTrigger& trigger) override;

  // A trace begins here with a call of the tenant's function: quiet when a trigger of the same tenant made it.
  void began(std::string_view tenant, std::string_view trace_id, std::string_view function_id);
  // A span was kept.
  void ended(const std::string& tenant, const json::Value& span);

 private:
  void tell();

  Bus& bus_;
  runtime::EventLoop& loop_;
  std::vector<BoundTriggerPtr> listeners_;
  std::map<std::string, std::set<std::string>> untold_;  // traces by the trigger's key
  std::deque<std::string> quiet_;                        // traces that are told to nobody, the newest last
  std::optional<runtime::TimerId> timer_;
  std::uint64_t lost_ = 0;
  bool stopped_ = false;
};

}  // namespace chela::bus::observability
