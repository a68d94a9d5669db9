#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "llm/provider.h"
#include "obs/metrics.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"
#include "store/response_cache_store.h"

namespace chela::llm::cache {

struct CacheRules {
  bool enabled = false;
  std::chrono::milliseconds ttl = std::chrono::hours(1);
  std::int64_t max_entries = 1000;  // of a user
};

// Answers that were given before, in the store. Lives on the loop; owned by app/, which awaits stop() before it goes.
class ResponseCache {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    store::ResponseCacheStore& store;
    obs::Metrics& metrics;
    std::function<CacheRules()> rules;                            // as they are now
    std::function<std::string(std::string_view model)> provider;  // whose model that is
  };
  explicit ResponseCache(Parts parts);

  // Under what the request's answer is kept; nothing when it is none of those that are.
  std::optional<std::string> key_of(const Request& request) const;
  struct Hit {
    Answer answer;
    UnixMs at = 0;
  };
  Task<std::optional<Hit>> find(Scope scope, std::string key);
  // Kept when it is one that may be; written behind.
  void keep(Scope scope, std::string key, const Answer& answer);
  UnixMs now() const { return parts_.loop.clock().now(); }

  Task<> stop() { return writes_.join(); }

 private:
  Parts parts_;
  obs::Counter& hits_;
  obs::Counter& misses_;
  runtime::TaskGroup writes_;
};

}  // namespace chela::llm::cache
