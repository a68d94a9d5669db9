#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "agent/engine.h"
#include "base/time.h"
#include "llm/provider.h"
#include "runtime/event_loop.h"
#include "runtime/id_source.h"

namespace chela::memory {
class Workspace;
}
namespace chela::security {
class TokenService;
}
namespace chela::tools {
class Registry;
}

namespace chela::api {

// What the process says of itself.
struct Status {
  std::string version;
  int pid = 0;
  UnixMs started_at = 0;
  std::string home;
  std::string socket;
  std::map<std::string, int> ports;
  std::size_t connections = 0;
  std::size_t event_streams = 0;
};

// The models that the configuration leads to.
struct ModelSettings {
  std::string backend;  // "openai", "local", ...
  std::string model;    // what is asked when nobody names one
};

// What the operations work on. Owned by app/, outlives the registry they are in. All null in a process that only needs the
// declarations (the command line that talks to a running engine): no handler is called there.
struct Services {
  runtime::EventLoop* loop = nullptr;
  runtime::IdSource* ids = nullptr;
  agent::Engine* engine = nullptr;
  memory::Workspace* memory = nullptr;
  security::TokenService* tokens = nullptr;
  const tools::Registry* tools = nullptr;
  std::function<llm::Provider&(std::string_view model)> provider_for = {};  // "" = the configured model's
  ModelSettings models = {};
  std::function<Status()> status = {};
  std::function<bool()> ready = {};
};

}  // namespace chela::api
