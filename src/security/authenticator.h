#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "op/principal.h"
#include "runtime/task.h"
#include "security/tokens.h"

namespace chela::security {

// The gateway's own token: `configured` (GATEWAY_AUTH_TOKEN, any text) when not empty, else the content of <home>/gateway.token, which
// is made (0600) if missing. Registered with the log as a secret.
Result<std::string> ensure_gateway_token(const std::string& home, std::string_view configured);

// The person who owns the engine: realm "default", may do everything.
op::Principal owner_principal(std::string_view user_id);

// Turns a bearer token into a Principal: the gateway token gives the owner, all others are asked of the TokenService. Loop thread only.
class Authenticator {
 public:
  Authenticator(TokenService& tokens, std::string gateway_token, std::string user_id)
      : tokens_(tokens), gateway_token_(std::move(gateway_token)), user_id_(std::move(user_id)) {}

  // kUnauthenticated for an empty, wrong, expired or revoked token.
  Task<Result<op::Principal>> authenticate(std::string bearer);

 private:
  TokenService& tokens_;
  std::string gateway_token_;
  std::string user_id_;
};

}  // namespace chela::security
