#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/scope.h"
#include "base/time.h"

namespace chela::op {

// What somebody may do: "memory:read", "tools:*", "*".
using Permissions = std::set<std::string, std::less<>>;

// True when a permission is this one, "*", or a prefix that ends in ":*".
bool allows(const Permissions& permissions, std::string_view permission);

// What both may do.
Permissions common(const Permissions& a, const Permissions& b);

// Who calls. Made by security/ from a token, by the CLI for the person at the terminal; never from a payload.
struct Principal {
  std::string realm;
  std::string user;
  Permissions permissions = {};
  std::optional<UnixMs> expires = std::nullopt;
  std::string token_id = {};  // "" when no stored token stands behind it

  bool allows(std::string_view permission) const { return op::allows(permissions, permission); }

  Scope scope(std::string agent = {}) const {
    return Scope{.realm = realm, .user = user, .agent = std::move(agent)};
  }
};

}  // namespace chela::op
