#pragma once

#include <string>

#include "base/result.h"
#include "base/scope.h"
#include "runtime/task.h"

namespace chela::store {

// Content-addressed bodies too large or too often repeated for a log record (system prompts, tool lists, large results).
// A blob belongs to a (realm, user): equal content of two users is stored twice, so that neither learns of the other.
class BlobStore {
 public:
  virtual ~BlobStore() = default;
  // Stores the content under its hash (crypto::content_hash, computed by the caller); ordered with TurnLogStore::append, so that no durable
  // record names a missing blob. Returns when queued (not when durable). kTooLarge past kMaxBlobBytes.
  virtual Task<Result<>> put(Scope scope, std::string hash, std::string content) = 0;
  virtual Task<Result<std::string>> get(Scope scope, std::string hash) = 0;
};

}  // namespace chela::store
