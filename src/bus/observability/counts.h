#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "bus/worker.h"

namespace chela::bus::observability {

// How often functions were called and how long that took, apart for each tenant: kMaxCountedTenants of them, further ones together, for
// administrators alone. Loop thread only.
class Counts {
 public:
  struct Tally {
    std::uint64_t total = 0;
    std::uint64_t success = 0;
    std::uint64_t error = 0;
    std::uint64_t spawns = 0;  // of workers
    std::uint64_t deaths = 0;
    std::map<std::string, std::uint64_t, std::less<>> by_function;
    std::deque<double> durations_ms;  // the newest
  };
  enum class Outcome { kSuccess, kError };

  void call(std::string_view tenant, std::string_view function_id, Outcome outcome, double milliseconds);
  void worker_came(std::string_view tenant) { ++of(tenant).spawns; }
  void worker_went(std::string_view tenant) { ++of(tenant).deaths; }

  // What the viewer may see, together.
  Tally seen_by(const Viewer& viewer) const;
  static json::Value row(const Tally& tally, size_t active_workers);

 private:
  Tally& of(std::string_view tenant);
  std::map<std::string, Tally, std::less<>> tenants_;
};

}  // namespace chela::bus::observability
