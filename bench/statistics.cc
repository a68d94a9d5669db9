#include "bench/statistics.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

namespace chela::bench {
namespace {

double round3(double value) { return std::round(value * 1000) / 1000; }

}  // namespace

json::Value summary(std::vector<double> samples) {
  if (samples.empty()) return json::Value::object({{"count", 0}});
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double q) {
    return round3(samples[static_cast<size_t>(q * static_cast<double>(samples.size() - 1))]);
  };
  const double mean =
      std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  return json::Value::object({{"count", samples.size()},
                              {"p50_ms", at(0.5)},
                              {"p99_ms", at(0.99)},
                              {"max_ms", round3(samples.back())},
                              {"mean_ms", round3(mean)}});
}

std::size_t resident_bytes(int pid) {
  std::ifstream in(pid == 0 ? "/proc/self/statm" : fmt::format("/proc/{}/statm", pid));
  std::size_t total = 0;
  std::size_t resident = 0;
  in >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace chela::bench
