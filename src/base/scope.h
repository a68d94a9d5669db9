#pragma once

#include <string>

namespace chela {

// Whose data a call works on. A parameter of every store, memory, tool and bus call; it comes from the caller's Principal, never
// from a payload. `agent` "" means what all agents of the user share.
struct Scope {
  std::string realm;
  std::string user;
  std::string agent;

  bool operator==(const Scope&) const = default;
};

}  // namespace chela
