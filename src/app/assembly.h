#pragma once

#include <memory>
#include <string>

#include "agent/engine.h"
#include "api/services.h"
#include "app/engine_file.h"
#include "app/knowledge.h"
#include "app/paths.h"
#include "config/config.h"
#include "gateway/gateway.h"
#include "hooks/hooks.h"
#include "llm/backends/backends.h"
#include "memory/workspace.h"
#include "net/http_client.h"
#include "obs/metrics.h"
#include "op/registry.h"
#include "os/file_lock.h"
#include "os/poller.h"
#include "runtime/asio_loop.h"
#include "runtime/id_source.h"
#include "runtime/pool.h"
#include "security/authenticator.h"
#include "store/sqlite/database.h"
#include "tools/builtin/workspaces.h"
#include "tools/registry.h"
#include "tools/runner.h"

namespace chela::app {

// One engine with everything it stands on, built by hand in the order of its members and taken down in the reverse. Lives on the loop.
// Its owner awaits start(), and stop() before it goes.
class Assembly {
 public:
  enum class Storage { kFile, kMemory };
  enum class Front { kNone, kSocket, kSocketAndTcp };
  struct Options {
    Paths paths;
    config::Settings settings;
    std::string share;  // folder of the data that comes with the program
    Storage storage = Storage::kFile;
    Front front = Front::kNone;
  };

  // Blocks. The lock says that this process may use the home.
  static Result<std::unique_ptr<Assembly>> create(runtime::AsioLoop& loop, os::Poller& poller,
                                                  os::FileLock lock, Options options);
  ~Assembly();

  // Takes up what a crash left open, then listens, then tells others where (engine.json).
  Task<Result<>> start();
  // Ends everything within a few seconds; what a turn had left to do it does at the next start.
  Task<> stop();

  const op::Registry& operations() const { return operations_; }
  const op::Principal& owner() const { return owner_; }
  std::string default_model() const { return backends_->default_model(); }
  // "http://127.0.0.1:3000", "" without a gateway.
  std::string address() const;
  const std::string& gateway_token() const { return gateway_token_; }

 private:
  Assembly(runtime::AsioLoop& loop, os::Poller& poller, os::FileLock lock, Options options);
  Result<> build();
  Result<> open_store();
  Result<> make_models();
  Result<> make_tools();
  Result<> make_engine();
  Result<> make_front();
  Result<> announce();
  Task<> import_identity();
  api::Status status() const;

  runtime::AsioLoop& loop_;
  os::Poller& poller_;
  os::FileLock lock_;
  const Options options_;
  const op::Principal owner_;
  UnixMs started_at_;
  bool ready_ = false;

  runtime::RandomIdSource ids_;
  runtime::Pool pool_;
  obs::Metrics metrics_;
  std::unique_ptr<net::HttpClient> http_;
  std::unique_ptr<store::sqlite::Database> database_;
  std::unique_ptr<memory::Workspace> memory_;
  std::unique_ptr<WorkspaceKnowledge> knowledge_;
  tools::Workspaces workspaces_;
  hooks::Chain hooks_;
  tools::Registry tools_;
  std::unique_ptr<tools::Runner> tool_runner_;
  std::unique_ptr<llm::Backends> backends_;
  std::unique_ptr<agent::Engine> engine_;
  std::unique_ptr<security::TokenService> tokens_;
  std::string gateway_token_;
  std::unique_ptr<security::Authenticator> authenticator_;
  api::Services services_;
  op::Registry operations_;
  std::unique_ptr<gateway::Gateway> gateway_;
};

}  // namespace chela::app
