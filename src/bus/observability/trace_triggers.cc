#include "bus/observability/trace_triggers.h"

#include <algorithm>

#include "base/strings.h"
#include "bus/observability/limits.h"
#include "obs/log.h"

namespace chela::bus::observability {
namespace {

bool wants(const BoundTrigger& trigger, std::string_view key, const json::Value& span) {
  const std::string wanted = trigger.config.string_or(key);
  return wanted.empty() || strings::iequals(wanted, span.string_or(key));
}

}  // namespace

Result<> TraceTriggers::add_type() {
  return bus_.add_trigger_type(
      {.id = "trace",
       .description = "spans of traces have ended",
       .trigger_format =
           R"({"type":"object","properties":{"service_name":{"type":"string"},"status":{"type":"string"}}})",
       .call_format =
           R"({"type":"object","properties":{"trace_ids":{"type":"array","items":{"type":"string"}}}})"},
      *this);
}

void TraceTriggers::stop() {
  stopped_ = true;
  if (timer_) loop_.cancel(*timer_);
  timer_.reset();
  listeners_.clear();
}

Result<> TraceTriggers::bind(BoundTriggerPtr trigger) {
  for (const std::string_view key : {"service_name", "status"}) {
    const json::Value* value = trigger->config.find(key);
    if (value != nullptr && !value->is_null() && !value->is_string())
      return fail(Code::kInvalidArgument, "the {} of a trace trigger is a text, not {}", key,
                  value->type_name());
  }
  listeners_.push_back(std::move(trigger));
  return {};
}

void TraceTriggers::release(const BoundTrigger& trigger) {
  std::erase_if(listeners_, [&](const BoundTriggerPtr& each) { return each->key == trigger.key; });
  untold_.erase(trigger.key);
}

void TraceTriggers::began(std::string_view tenant, std::string_view trace_id, std::string_view function_id) {
  const bool own = std::ranges::any_of(listeners_, [&](const BoundTriggerPtr& each) {
    return each->tenant == tenant && (each->function_id == function_id || condition_of(*each) == function_id);
  });
  if (!own) return;
  quiet_.emplace_back(trace_id);
  if (quiet_.size() > kMaxQuietTraces) quiet_.pop_front();
}

void TraceTriggers::ended(const std::string& tenant, const json::Value& span) {
  if (listeners_.empty() || stopped_) return;
  const std::string trace = span.string_or("trace_id");
  if (std::ranges::find(quiet_, trace) != quiet_.end()) return;
  for (const BoundTriggerPtr& each : listeners_) {
    const bool may = each->tenant == tenant || each->rights.principal.allows("admin");
    if (!may || !wants(*each, "service_name", span) || !wants(*each, "status", span)) continue;
    std::set<std::string>& traces = untold_[each->key];
    if (traces.size() >= kMaxTracesToTell && !traces.contains(trace)) {
      ++lost_;
      continue;
    }
    traces.insert(trace);
  }
  if (timer_ || untold_.empty()) return;
  timer_ = loop_.call_at(loop_.clock().steady() + kTellDelay, [this] {
    timer_.reset();
    tell();
  });
}

void TraceTriggers::tell() {
  const std::vector<BoundTriggerPtr> listeners = listeners_;  // copies: what is called may change them
  const std::map<std::string, std::set<std::string>> untold = std::exchange(untold_, {});
  for (const BoundTriggerPtr& each : listeners) {
    const auto traces = untold.find(each->key);
    if (traces == untold.end()) continue;
    json::Value ids = json::Value::array();
    for (const std::string& id : traces->second) ids.push_back(id);
    bus_.fire(each, Payload(json::Value::object({{"trace_ids", std::move(ids)}})));
  }
  if (const std::uint64_t lost = std::exchange(lost_, 0); lost > 0)
    log::warn("bus", "traces were not told to triggers: too many at once", {{"lost", lost}});
}

}  // namespace chela::bus::observability
