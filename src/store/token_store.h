#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "runtime/task.h"

namespace chela::store {

// A token as it is kept. The secret itself is not: only its hash.
struct TokenRow {
  std::string id;    // 16 lower-case hex digits, unique
  std::string hash;  // SHA-256 of the secret, hex
  std::string realm;
  std::string user;
  std::string permissions;  // JSON array of strings
  std::string label;
  UnixMs created_at = 0;
  std::optional<UnixMs> expires_at = std::nullopt;
  std::optional<UnixMs> revoked_at = std::nullopt;

  bool operator==(const TokenRow&) const = default;
};

class TokenStore {
 public:
  virtual ~TokenStore() = default;

  // kConflict when the id exists.
  virtual Task<Result<>> put(TokenRow row) = 0;
  // By id alone: this is how a caller's scope is found out.
  virtual Task<Result<std::optional<TokenRow>>> get(std::string id) = 0;
  // All tokens of the realm and user, revoked ones too, oldest first (then by id). The scope's agent does not matter.
  virtual Task<Result<std::vector<TokenRow>>> list(Scope scope) = 0;
  // Sets revoked_at unless it is set. False when the scope has no such token.
  virtual Task<Result<bool>> revoke(Scope scope, std::string id, UnixMs at) = 0;
};

}  // namespace chela::store
