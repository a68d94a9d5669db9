#include "bus/observability/sampling.h"

#include <algorithm>

namespace chela::bus::observability {
namespace {

bool fits(std::string_view pattern, std::string_view text) {
  return pattern.empty() || matches_glob(pattern, text);
}

}  // namespace

// Goes back to the last star only, so that no pattern costs more than its length times the text's.
bool matches_glob(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Sampler::Sampler(SamplingConfig config)
    : config_(std::move(config)),
      owed_(config_.rules.size() + 1),
      allowance_(std::max(1.0, config_.traces_per_second.value_or(0))) {}

bool Sampler::begins(std::string_view operation, std::string_view service, SteadyTime now) {
  const auto rule = std::ranges::find_if(config_.rules, [&](const SamplingRule& each) {
    return fits(each.operation, operation) && fits(each.service, service);
  });
  const double rate = rule == config_.rules.end() ? config_.ratio : rule->rate;
  if (rate < 1) {
    double& owed = owed_[static_cast<size_t>(rule - config_.rules.begin())];
    owed += rate;
    if (owed < 1) return false;
    owed -= 1;
  }
  return within_limit(now);
}

// What one second leaves over is there for the next, but no more than one second's.
bool Sampler::within_limit(SteadyTime now) {
  if (!config_.traces_per_second) return true;
  const double seconds = std::chrono::duration<double>(now - refilled_).count();
  allowance_ =
      std::min(std::max(1.0, *config_.traces_per_second), allowance_ + seconds * *config_.traces_per_second);
  refilled_ = now;
  if (allowance_ < 1) return false;
  allowance_ -= 1;
  return true;
}

json::Value Sampler::describe() const {
  json::Value rules = json::Value::array();
  for (const SamplingRule& each : config_.rules) {
    json::Value row = json::Value::object({{"rate", each.rate}});
    if (!each.operation.empty()) row.set("operation", each.operation);
    if (!each.service.empty()) row.set("service", each.service);
    rules.push_back(std::move(row));
  }
  json::Value out = json::Value::object(
      {{"default", config_.ratio}, {"rules", std::move(rules)}, {"parent_based", follows_parent()}});
  if (config_.traces_per_second)
    out.set("rate_limit", json::Value::object({{"max_traces_per_second", *config_.traces_per_second}}));
  return out;
}

}  // namespace chela::bus::observability
