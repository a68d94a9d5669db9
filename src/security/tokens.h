#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "op/principal.h"
#include "runtime/clock.h"
#include "runtime/task.h"
#include "security/token_lease.h"
#include "store/token_store.h"

namespace chela::security {

// What may be shown of a token.
struct TokenInfo {
  std::string id;
  std::string label;
  op::Principal principal;
  UnixMs created_at = 0;
  std::optional<UnixMs> revoked_at = std::nullopt;
};

// Tokens `chela_<id>_<secret>`: the one kind of credential that gives a Principal. Stored hashed; the text is shown once, when it is
// created. Nothing is cached, so a revoked token is dead at once. Loop thread only.
class TokenService {
 public:
  TokenService(store::TokenStore& store, const runtime::Clock& clock) : store_(store), clock_(clock) {}

  // The token's text. The new token may not do more than `principal`, which says realm, user, permissions and expiry.
  Task<Result<std::string>> create(op::Principal principal, std::string label);
  // kUnauthenticated for anything that is no living token; the error does not say why.
  Task<Result<op::Principal>> verify(std::string text);
  Task<Result<std::vector<TokenInfo>>> list(Scope scope);
  // For what goes on after the token was verified: a stream, a socket. kUnauthenticated when the token was revoked meanwhile. The service
  // outlives the lease.
  Task<Result<std::shared_ptr<const TokenLease>>> watch(runtime::EventLoop& loop, op::Principal principal);
  // Ends what goes on with the token, too. kNotFound when the scope has no such token. Revoking twice is no error.
  Task<Result<>> revoke(Scope scope, std::string id);

 private:
  store::TokenStore& store_;
  const runtime::Clock& clock_;
  TokenLeases leases_;
};

}  // namespace chela::security
