#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "op/principal.h"
#include "runtime/event_loop.h"

namespace chela::security {

class TokenLease;

// The leases of tokens that are open, by the tokens' ids. Outlives them. Loop thread only.
class TokenLeases {
 public:
  // Ends all of the token.
  void end(const std::string& token_id);
  size_t size() const { return open_.size(); }

 private:
  friend class TokenLease;
  std::multimap<std::string, TokenLease*> open_;
};

// What a connection holds while it acts with a token: ended() fires when the token is revoked or expires. That of a principal without a
// token or expiry never does. Loop thread only.
class TokenLease {
 public:
  TokenLease(runtime::EventLoop& loop, TokenLeases& leases, const op::Principal& principal);
  ~TokenLease();
  TokenLease(const TokenLease&) = delete;
  TokenLease& operator=(const TokenLease&) = delete;

  std::stop_token ended() const { return source_.get_token(); }

 private:
  friend class TokenLeases;
  void watch_expiry();

  runtime::EventLoop& loop_;
  TokenLeases& leases_;
  const std::string token_id_;
  const std::optional<UnixMs> expires_;
  std::stop_source source_;
  std::optional<runtime::TimerId> timer_;
};

}  // namespace chela::security
