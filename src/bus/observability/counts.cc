#include "bus/observability/counts.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "bus/observability/limits.h"

namespace chela::bus::observability {
namespace {

constexpr std::string_view kOther = "other";  // no tenant has this name: theirs have a line break

}  // namespace

Counts::Tally& Counts::of(std::string_view tenant) {
  const auto found = tenants_.find(tenant);
  if (found != tenants_.end()) return found->second;
  return tenants_[std::string(tenants_.size() < kMaxCountedTenants ? tenant : kOther)];
}

void Counts::call(std::string_view tenant, std::string_view function_id, Outcome outcome,
                  double milliseconds) {
  Tally& tally = of(tenant);
  ++tally.total;
  ++(outcome == Outcome::kSuccess ? tally.success : tally.error);
  auto by = tally.by_function.find(function_id);
  if (by == tally.by_function.end()) {
    const bool full = tally.by_function.size() >= kMaxCountedFunctions;
    by = tally.by_function.emplace(full ? kOther : function_id, 0).first;
  }
  ++by->second;
  tally.durations_ms.push_back(milliseconds);
  if (tally.durations_ms.size() > kMaxDurations) tally.durations_ms.pop_front();
}

Counts::Tally Counts::seen_by(const Viewer& viewer) const {
  Tally sum;
  for (const auto& [tenant, tally] : tenants_) {
    if (!viewer.sees_all && tenant != viewer.tenant) continue;
    sum.total += tally.total;
    sum.success += tally.success;
    sum.error += tally.error;
    sum.spawns += tally.spawns;
    sum.deaths += tally.deaths;
    for (const auto& [id, count] : tally.by_function) sum.by_function[id] += count;
    sum.durations_ms.insert(sum.durations_ms.end(), tally.durations_ms.begin(), tally.durations_ms.end());
  }
  return sum;
}

json::Value Counts::row(const Tally& tally, size_t active_workers) {
  json::Value by = json::Value::object();
  for (const auto& [id, count] : tally.by_function) by.set(id, count);
  std::vector<double> sorted(tally.durations_ms.begin(), tally.durations_ms.end());
  std::ranges::sort(sorted);
  const auto at = [&sorted](double share) {
    return sorted.empty() ? 0.0 : sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  return json::Value::object(
      {{"invocations", json::Value::object({{"total", tally.total},
                                            {"success", tally.success},
                                            {"error", tally.error},
                                            {"by_function", std::move(by)}})},
       {"workers", json::Value::object(
                       {{"spawns", tally.spawns}, {"deaths", tally.deaths}, {"active", active_workers}})},
       {"performance", json::Value::object({{"avg_duration_ms",
                                             sorted.empty() ? 0.0 : sum / static_cast<double>(sorted.size())},
                                            {"p50_duration_ms", at(0.5)},
                                            {"p95_duration_ms", at(0.95)},
                                            {"p99_duration_ms", at(0.99)},
                                            {"min_duration_ms", at(0)},
                                            {"max_duration_ms", at(1)}})}});
}

}  // namespace chela::bus::observability
