#pragma once

#include <string>

#include "bus/bridge/remote.h"
#include "bus/bus.h"

namespace chela::bus::bridge {

struct Forwarded {
  std::string local;
  std::string remote;
  std::string description = {};
  std::string request_format = {};
  std::chrono::milliseconds timeout = kRemoteTimeout;
};

// From now on the function `local` is the function `remote` of the other engine, which outlives the bus. kConflict when the id is taken.
Result<> forward(Bus& bus, Remote& remote, Forwarded function);

// In whose name the other engine's calls are made here: the one user of an engine that is the bus alone.
op::CallContext context_of_bridge(std::stop_token stop);

}  // namespace chela::bus::bridge
