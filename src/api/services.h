#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/engine.h"
#include "base/json.h"
#include "base/time.h"
#include "llm/embeddings.h"
#include "llm/models.h"
#include "llm/provider.h"
#include "op/operation.h"
#include "runtime/event_loop.h"
#include "runtime/id_source.h"

namespace chela::llm {
class Backends;
}
namespace chela::llm::budget {
class Budget;
}
namespace chela::llm::routing {
class RoutingProvider;
}
namespace chela::memory {
class Workspace;
}
namespace chela::security {
class TokenService;
class Vault;
}  // namespace chela::security
namespace chela::tools {
class Registry;
}

namespace chela::api {

class SettingsService;

// What the process says of itself.
struct Status {
  std::string version;
  int pid = 0;
  UnixMs started_at = 0;
  std::string home;
  std::string socket;
  std::map<std::string, int> ports;
  std::size_t connections = 0;
  std::size_t event_streams = 0;  // server-sent events
  std::size_t sockets = 0;
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
  security::Vault* vault = nullptr;
  const tools::Registry* tools = nullptr;
  SettingsService* settings = nullptr;
  const llm::Backends* backends = nullptr;
  llm::budget::Budget* budget = nullptr;
  const llm::routing::RoutingProvider* routing = nullptr;
  std::function<llm::Provider&(std::string_view model)> provider_for = {};  // "" = nobody named one
  // How the model is offered tools. Who asks a model directly has no agent that says otherwise.
  std::function<llm::ToolCalling(std::string_view model)> tool_calling = [](std::string_view) {
    return llm::ToolCalling::kNative;
  };
  // Texts as vectors, by a worker that stands in or the model's provider, on the account of the request's caller.
  std::function<Task<Result<llm::Embeddings>>(llm::EmbeddingRequest, std::optional<SteadyTime>,
                                              std::stop_token)>
      embed = {};
  std::function<ModelSettings()> models = {};
  std::function<std::optional<llm::Price>(std::string_view model)> price = {};
  std::function<Status()> status = {};
  // A function of the bus, in the context's name.
  std::function<Task<Result<json::Value>>(op::CallContext, std::string id, json::Value data)> call_function =
      {};
  std::function<bool()> ready = {};
};

}  // namespace chela::api
