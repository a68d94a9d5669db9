#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "runtime/task.h"

namespace chela::store {

struct CachedResponse {
  std::string body;  // JSON
  UnixMs at = 0;     // when it was kept

  bool operator==(const CachedResponse&) const = default;
};

// Answers of models by the hash of what was asked: a user's own, whichever agent asks. Loop thread only. Writes are queued at once, before
// the task is awaited, ride with the next commit and return after it.
class ResponseCacheStore {
 public:
  virtual ~ResponseCacheStore() = default;
  // What was kept at `since` or later.
  virtual Task<Result<std::optional<CachedResponse>>> find(Scope scope, std::string key, UnixMs since) = 0;
  // It was of use again.
  virtual Task<Result<>> touch(Scope scope, std::string key, UnixMs at) = 0;
  // What else of the user's may stay.
  struct Limits {
    UnixMs since = 0;              // older ones go
    std::int64_t max_entries = 0;  // beyond them go those that were of no use for longest
  };
  virtual Task<Result<>> put(Scope scope, std::string key, std::string body, UnixMs at, Limits limits) = 0;
};

}  // namespace chela::store
