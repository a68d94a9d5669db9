#include "bus/observability/rollups.h"

#include <algorithm>

#include "bus/observability/limits.h"

namespace chela::bus::observability {

void Rollup::add(double value) {
  min = count == 0 ? value : std::min(min, value);
  max = count == 0 ? value : std::max(max, value);
  ++count;
  sum += value;
  last = value;
}

void Rollups::add(std::string_view tenant, std::string_view name, double value, UnixMs now) {
  auto of = tenants_.find(tenant);
  if (of == tenants_.end()) {
    if (series_ >= kMaxRolledSeries) return;
    of = tenants_.emplace(tenant, std::map<std::string, Series, std::less<>>()).first;
  }
  auto found = of->second.find(name);
  if (found == of->second.end()) {
    if (series_ >= kMaxRolledSeries) return;
    ++series_;
    found = of->second.emplace(name, Series()).first;
  }
  for (size_t level = 0; level < kLevels; ++level) {
    std::deque<Rollup>& kept = found->second[level];
    const UnixMs start = now - now % kSpans[level];
    if (kept.empty() || kept.back().start != start) kept.push_back({.start = start});
    if (kept.size() > kKeptRollups) kept.pop_front();
    kept.back().add(value);
  }
}

void Rollups::each(const Viewer& viewer, size_t level,
                   const std::function<void(const std::string&, const Rollup&)>& visit) const {
  for (const auto& [tenant, all] : tenants_) {
    if (!viewer.sees_all && tenant != viewer.tenant) continue;
    for (const auto& [name, series] : all) {
      for (const Rollup& rollup : series[level]) visit(name, rollup);
    }
  }
}

}  // namespace chela::bus::observability
