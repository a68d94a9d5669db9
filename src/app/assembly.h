#pragma once

#include <memory>
#include <string>

#include "agent/engine.h"
#include "api/services.h"
#include "app/bus_host.h"
#include "app/bus_knowledge.h"
#include "app/bus_memories.h"
#include "app/engine_file.h"
#include "app/foundation.h"
#include "app/knowledge.h"
#include "app/model_access.h"
#include "app/paths.h"
#include "app/provider_keys.h"
#include "app/trace_recorder.h"
#include "app/uploads.h"
#include "bus/operation_detour.h"
#include "config/config.h"
#include "gateway/gateway.h"
#include "hooks/hooks.h"
#include "llm/backends/backends.h"
#include "llm/backends/front.h"
#include "llm/budget/budget.h"
#include "llm/retry.h"
#include "memory/bus/bus_embedder.h"
#include "memory/workspace.h"
#include "net/http_client.h"
#include "obs/metrics.h"
#include "op/registry.h"
#include "os/file_lock.h"
#include "os/poller.h"
#include "runtime/asio_loop.h"
#include "runtime/id_source.h"
#include "runtime/task_group.h"
#include "security/authenticator.h"
#include "security/file_vault.h"
#include "tools/builtin/workspaces.h"
#include "tools/bus/worker_tools.h"
#include "tools/registry.h"
#include "tools/runner.h"

namespace chela::app {

// One engine with everything it stands on, built by hand in the order of its members and taken down in the reverse. Lives on the loop.
// Its owner awaits start(), and stop() before it goes.
class Assembly {
 public:
  enum class Front { kNone, kSocket, kSocketAndTcp };
  struct Options {
    Paths paths;
    std::string share;                                    // folder of the data that comes with the program
    std::map<std::string, std::string> environment = {};  // at the start, keys of providers in it
    std::string notify_socket = {};                       // of the service manager, "" when there is none
    Front front = Front::kNone;
    // Stand for every model and for the network, when a trace is played. Not owned.
    llm::Provider* model = nullptr;
    net::HttpClient* http = nullptr;
  };

  // Blocks. The lock says that this process may use the home.
  static Result<std::unique_ptr<Assembly>> create(runtime::AsioLoop& loop, os::Poller& poller,
                                                  os::FileLock lock, std::unique_ptr<Foundation> foundation,
                                                  Options options);
  ~Assembly();

  // Takes up what a crash left open, then listens, then tells others where (engine.json).
  Task<Result<>> start();
  // Ends everything within a few seconds; what a turn had left to do it does at the next start.
  Task<> stop();

  // Reads the configuration again, in the background; what it says goes to the log.
  void reload();

  const op::Registry& operations() const { return operations_; }
  const op::Principal& owner() const { return owner_; }
  agent::Engine& engine() { return *engine_; }
  memory::Workspace& memory() { return *memory_; }
  agent::Uploads& files() { return uploads_; }
  std::string default_model() const { return backends_->default_model(); }
  // "http://127.0.0.1:3000", "" without a gateway.
  std::string address() const;
  const std::string& gateway_token() const { return gateway_token_; }

 private:
  Assembly(runtime::AsioLoop& loop, os::Poller& poller, os::FileLock lock,
           std::unique_ptr<Foundation> foundation, Options options);
  const config::Settings& settings() const { return foundation_->settings(); }
  Result<> build();
  Result<> open_memory();
  config::BudgetSettings budget_settings(const config::Settings& settings) const;
  Result<> make_models();
  Result<> make_tools();
  Result<> make_engine();
  Result<> make_front();
  Result<> make_bus();
  Result<> follow_settings();
  Task<> reload_configuration();
  Result<> announce();
  Task<> import_identity();
  // "" where nobody named a model.
  llm::Provider& provider_for(std::string_view model);
  Task<Result<llm::Embeddings>> embed(llm::EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                      std::stop_token stop);
  void notify(std::string_view state) const;
  Task<Result<json::Value>> call_function(op::CallContext context, std::string id, json::Value data);
  Task<Result<bus::Admission>> bus_login(bus::Visitor visitor);
  Task<Result<bus::Rights>> restore_rights(op::Principal principal);
  api::Status status() const;

  runtime::AsioLoop& loop_;
  os::Poller& poller_;
  os::FileLock lock_;
  const Options options_;
  const op::Principal owner_;
  UnixMs started_at_;
  bool ready_ = false;

  const std::unique_ptr<Foundation> foundation_;
  runtime::TaskGroup tasks_;
  runtime::RandomIdSource ids_;
  obs::Metrics metrics_;
  std::unique_ptr<net::HttpClient> own_http_;
  net::HttpClient& http_;
  std::unique_ptr<memory::Workspace> memory_;
  std::unique_ptr<WorkspaceKnowledge> own_knowledge_;
  std::unique_ptr<BusKnowledge> knowledge_;
  tools::Workspaces workspaces_;
  WorkspaceUploads uploads_;
  hooks::Chain hooks_;
  tools::Registry tools_;
  std::unique_ptr<tools::Runner> tool_runner_;
  security::FileVault vault_;
  EngineKeys keys_;
  std::vector<config::BudgetRule> agent_budgets_;
  std::unique_ptr<llm::budget::Budget> budget_;
  std::unique_ptr<llm::Backends> backends_;
  std::unique_ptr<llm::Front> models_front_;
  std::unique_ptr<ModelAccess> models_;
  std::unique_ptr<llm::RetryProvider> only_model_;  // before options_.model
  TraceRecorder recorder_;
  std::unique_ptr<agent::Engine> engine_;
  std::unique_ptr<security::TokenService> tokens_;
  std::string gateway_token_;
  std::unique_ptr<security::FailedLogins> failed_logins_;  // of gateway and bus together
  std::unique_ptr<security::Authenticator> authenticator_;
  api::Services services_;
  op::Registry operations_;
  std::unique_ptr<gateway::Gateway> gateway_;
  std::unique_ptr<BusHost> bus_;
  std::unique_ptr<bus::OperationDetour> detour_;
  std::unique_ptr<BusMemories> memories_;
  std::unique_ptr<memory::BusEmbedder> embedder_;
  std::unique_ptr<tools::WorkerTools> worker_tools_;
};

}  // namespace chela::app
