#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"
#include "bus/worker.h"

namespace chela::bus::observability {

// What was measured within one span of time.
struct Rollup {
  UnixMs start = 0;
  std::uint64_t count = 0;
  double sum = 0;
  double min = 0;
  double max = 0;
  double last = 0;

  void add(double value);
};

// Measures by the minute, by five minutes and by the hour: what is left of them when the points have gone. Bounded by kMaxRolledSeries
// and kKeptRollups; a name past them is left out. Loop thread only.
class Rollups {
 public:
  static constexpr size_t kLevels = 3;
  static constexpr std::array<UnixMs, kLevels> kSpans = {60'000, 300'000, 3'600'000};

  void add(std::string_view tenant, std::string_view name, double value, UnixMs now);
  // Oldest first, for each name.
  void each(const Viewer& viewer, size_t level,
            const std::function<void(const std::string& name, const Rollup& rollup)>& visit) const;

 private:
  using Series = std::array<std::deque<Rollup>, kLevels>;
  std::map<std::string, std::map<std::string, Series, std::less<>>, std::less<>> tenants_;
  size_t series_ = 0;
};

}  // namespace chela::bus::observability
