#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "op/principal.h"
#include "runtime/task.h"
#include "security/failed_logins.h"
#include "security/tokens.h"

namespace chela::security {

// The gateway's own token: `configured` (GATEWAY_AUTH_TOKEN, any text) when not empty, else the content of <home>/gateway.token, which
// is made (0600) if missing and closed to others if it was open to them. Registered with the log as a secret.
Result<std::string> ensure_gateway_token(const std::string& home, std::string_view configured);

// The person who owns the engine: realm "default", may do everything.
op::Principal owner_principal(std::string_view user_id);

// Turns a bearer token into a Principal: the gateway token gives the owner, all others are asked of the TokenService. Loop thread only.
class Authenticator {
 public:
  Authenticator(TokenService& tokens, FailedLogins& failed, std::string gateway_token, std::string user_id)
      : tokens_(tokens),
        failed_(failed),
        gateway_token_(std::move(gateway_token)),
        user_id_(std::move(user_id)) {}

  // kUnauthenticated for an empty, wrong, expired or revoked token.
  Task<Result<op::Principal>> authenticate(std::string bearer);

  // The same for a token that came from a peer ("127.0.0.1:40312", "unix"): an address that guesses is slowed down (kRateLimited).
  Task<Result<op::Principal>> login(std::string bearer, std::string peer);

  // What a connection holds that goes on with what authenticate() gave; see TokenService::watch().
  Task<Result<std::shared_ptr<const TokenLease>>> watch(runtime::EventLoop& loop, op::Principal principal) {
    return tokens_.watch(loop, std::move(principal));
  }

 private:
  TokenService& tokens_;
  FailedLogins& failed_;
  std::string gateway_token_;
  std::string user_id_;
};

}  // namespace chela::security
