#pragma once

#include <memory>

#include "bus/bus.h"
#include "bus/engine/engine_config.h"
#include "bus/server.h"

namespace chela::bus {

// A web page must not talk to a port that asks for nothing, which its reader's browser can reach though its author cannot: of pages only
// those of this machine are let in. Programs send no Origin. AUTH_ERROR for others.
Result<> check_page(const Visitor& visitor);

// Lets connections of one listener in, as its rules say. Loop thread only; outlives the listener's server.
class Gatekeeper {
 public:
  // `host` is in whose name the listener's functions are called; sessions are of the same user.
  Gatekeeper(Bus& bus, ListenerConfig listener, Rights host);

  // Asks the listener's authentication function, where there is one. Errors have the wire code AUTH_ERROR.
  Task<Result<Admission>> admit(Visitor visitor);

 private:
  Bus& bus_;
  const ListenerConfig listener_;
  const Rights host_;
  Session every_;  // what all its sessions have
};

}  // namespace chela::bus
