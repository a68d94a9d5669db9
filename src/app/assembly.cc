#include "app/assembly.h"

#include <unistd.h>

#include <cstdio>

#include "agent/make_engine.h"
#include "api/operations.h"
#include "app/agents.h"
#include "llm/local/infer_process.h"
#include "memory/documents.h"
#include "memory/identity.h"
#include "memory/memory_tools.h"
#include "net/curl_client.h"
#include "obs/log.h"
#include "os/file.h"
#include "tools/builtin/builtin.h"

namespace chela::app {
namespace {

constexpr size_t kPoolThreads = 4;
constexpr size_t kMaxCatalogBytes = 4 * 1024 * 1024;
constexpr auto kFrontGrace = std::chrono::seconds(2);  // for connections to take their last bytes

std::string_view backend_name(config::LlmBackend backend) {
  switch (backend) {
    case config::LlmBackend::kOpenAi:
      return "openai";
    case config::LlmBackend::kOpenAiCompatible:
      return "openai_compatible";
    case config::LlmBackend::kOllama:
      return "ollama";
    case config::LlmBackend::kLocal:
      return "local";
  }
  return "";
}

}  // namespace

Assembly::Assembly(runtime::AsioLoop& loop, os::Poller& poller, os::FileLock lock, Options options)
    : loop_(loop),
      poller_(poller),
      lock_(std::move(lock)),
      options_(std::move(options)),
      owner_(security::owner_principal(options_.settings.gateway.user_id)),
      started_at_(loop.clock().now()),
      ids_(loop.clock()),
      pool_(loop, kPoolThreads),
      http_(net::make_curl_client(loop)),
      workspaces_(options_.paths.workspaces),
      hooks_(loop) {}

Assembly::~Assembly() = default;

Result<std::unique_ptr<Assembly>> Assembly::create(runtime::AsioLoop& loop, os::Poller& poller,
                                                   os::FileLock lock, Options options) {
  std::unique_ptr<Assembly> made(new Assembly(loop, poller, std::move(lock), std::move(options)));
  if (Result<> built = made->build(); !built) return fail(built.error());
  return made;
}

Result<> Assembly::build() {
  for (const auto step : {&Assembly::open_store, &Assembly::make_models, &Assembly::make_tools,
                          &Assembly::make_engine, &Assembly::make_front}) {
    if (Result<> done = (this->*step)(); !done) return done;
  }
  return {};
}

Result<> Assembly::open_store() {
  Result<std::unique_ptr<store::sqlite::Database>> opened =
      options_.storage == Storage::kMemory
          ? store::sqlite::Database::open_in_memory(loop_)
          : store::sqlite::Database::open(options_.paths.database, loop_, pool_);
  if (!opened) return fail(opened.error());
  database_ = std::move(*opened);
  memory_ = std::make_unique<memory::Workspace>(database_->memory(), ids_, loop_.clock());
  knowledge_ = std::make_unique<WorkspaceKnowledge>(*memory_);
  return {};
}

Result<> Assembly::make_models() {
  const Result<std::string> text = os::read_file(options_.share + "/models/catalog.json", kMaxCatalogBytes);
  if (!text) return fail(text.error());
  Result<llm::Catalog> catalog = llm::Catalog::parse(*text);
  if (!catalog) return fail(catalog.error());
  llm::LocalPaths paths{.infer_program = llm::local::beside_this_program("chela-infer"),
                        .models_dir = options_.paths.models,
                        .socket = options_.paths.infer_socket};
  Result<std::unique_ptr<llm::Backends>> backends = llm::Backends::create(
      options_.settings.llm, options_.settings.infer, std::move(*catalog), std::move(paths),
      {.loop = loop_, .poller = poller_, .http = *http_, .ids = ids_});
  if (!backends) return fail(backends.error());
  backends_ = std::move(*backends);
  return {};
}

Result<> Assembly::make_tools() {
  const tools::BuiltinParts parts{.clock = loop_.clock(),
                                  .pool = pool_,
                                  .workspaces = workspaces_,
                                  .protected_files = memory::identity_names()};
  if (Result<> added = tools::add_builtin_tools(tools_, parts); !added) return added;
  if (Result<> added = memory::add_memory_tools(tools_, *memory_); !added) return added;
  tool_runner_ = std::make_unique<tools::Runner>(
      loop_, tools_, hooks_,
      tools::RunnerOptions{.timeout = options_.settings.tools.timeout,
                           .max_result_bytes = kMaxToolResultBytes,
                           .auto_approve = options_.settings.agent.auto_approve_tools});
  return {};
}

Result<> Assembly::make_engine() {
  Result<std::vector<agent::AgentSpec>> agents = load_agent_specs(options_.paths.agents, options_.settings);
  if (!agents) return fail(agents.error());
  const config::Settings& settings = options_.settings;
  const auto choose_model = [this](const agent::AgentSpec& agent) -> Result<agent::ModelChoice> {
    const std::string model = agent.model.empty() ? backends_->default_model() : agent.model;
    const std::int64_t known = backends_->info(model).context_tokens;
    return agent::ModelChoice{.provider = &backends_->provider_for(model),
                              .model = model,
                              .context_tokens = known > 0 ? known : options_.settings.agent.context_tokens};
  };
  engine_ = agent::make_engine(
      {.loop = loop_,
       .ids = ids_,
       .log = database_->turn_log(),
       .blobs = database_->blobs(),
       .settings_store = database_->settings(),
       .tools = tools_,
       .tool_runner = *tool_runner_,
       .hooks = hooks_,
       .metrics = metrics_,
       .knowledge = *knowledge_,
       .choose_model = choose_model,
       .agents = std::move(*agents),
       .settings = {.max_iterations = settings.agent.max_tool_iterations,
                    .busy = settings.agent.busy == config::WhenBusy::kQueue ? agent::WhenBusy::kQueue
                                                                            : agent::WhenBusy::kSteer,
                    .max_message_bytes = settings.limits.message_bytes,
                    .max_subscribers = settings.limits.event_subscribers}});
  return {};
}

Result<> Assembly::make_front() {
  const config::Settings& settings = options_.settings;
  tokens_ = std::make_unique<security::TokenService>(database_->tokens(), loop_.clock());
  services_ = {.loop = &loop_,
               .ids = &ids_,
               .engine = engine_.get(),
               .memory = memory_.get(),
               .tokens = tokens_.get(),
               .tools = &tools_,
               .provider_for = [this](std::string_view model) -> llm::Provider& {
                 return model.empty() ? backends_->default_provider() : backends_->provider_for(model);
               },
               .models = {.backend = std::string(backend_name(settings.llm.backend)),
                          .model = backends_->default_model()},
               .status = [this] { return status(); },
               .ready = [this] { return ready_; }};
  if (Result<> added = api::add_operations(operations_, services_); !added) return added;
  if (options_.front == Front::kNone) return {};
  Result<std::string> token =
      security::ensure_gateway_token(options_.paths.home, settings.gateway.auth_token);
  if (!token) return fail(token.error());
  gateway_token_ = std::move(*token);
  authenticator_ =
      std::make_unique<security::Authenticator>(*tokens_, gateway_token_, settings.gateway.user_id);
  using Tcp = gateway::GatewayOptions::Tcp;
  gateway::GatewayOptions options{.host = settings.gateway.host,
                                  .port = settings.gateway.port,
                                  .tcp = options_.front == Front::kSocketAndTcp ? Tcp::kListen : Tcp::kOff,
                                  .socket = options_.paths.socket,
                                  .body_bytes = settings.limits.body_bytes,
                                  .v1_body_bytes = settings.limits.v1_body_bytes,
                                  .header_bytes = settings.limits.header_bytes,
                                  .connections = settings.limits.connections,
                                  .version = CHELA_VERSION};
  gateway_ = std::make_unique<gateway::Gateway>(loop_, operations_, *authenticator_, owner_, metrics_,
                                                std::move(options));
  return {};
}

api::Status Assembly::status() const {
  api::Status now{
      .version = CHELA_VERSION, .pid = ::getpid(), .started_at = started_at_, .home = options_.paths.home};
  if (gateway_) {
    now.socket = options_.paths.socket;
    if (gateway_->port() != 0) now.ports["gateway"] = gateway_->port();
    now.connections = gateway_->connections();
    now.event_streams = gateway_->event_streams();
  }
  return now;
}

std::string Assembly::address() const {
  if (!gateway_ || gateway_->port() == 0) return {};
  const std::string& host = options_.settings.gateway.host;
  const bool ipv6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}", ipv6 ? "[" + host + "]" : host, gateway_->port());
}

// Files that a person put into the workspace's root become documents.
Task<> Assembly::import_identity() {
  const Scope scope = owner_.scope();
  const memory::ImportReport report =
      co_await memory::import_identity_files(*memory_, pool_, scope, workspaces_.folder_of(scope));
  for (const std::string& each : report.imported)
    log::info("memory", "imported an identity file", {{"file", each}});
  for (const std::string& each : report.problems) log::warn("memory", each);
}

Result<> Assembly::announce() {
  const api::Status now = status();
  return write_engine_file(options_.paths.engine_file, {.pid = now.pid,
                                                        .version = now.version,
                                                        .started_at = now.started_at,
                                                        .socket = now.socket,
                                                        .ports = now.ports});
}

Task<Result<>> Assembly::start() {
  co_await import_identity();
  if (Result<> recovered = co_await engine_->recover(); !recovered) co_return recovered;
  if (gateway_) {
    if (Result<> listening = gateway_->listen(); !listening) co_return listening;
    if (Result<> told = announce(); !told) co_return told;
  }
  ready_ = true;
  log::info("app", "ready", {{"version", CHELA_VERSION}, {"pid", ::getpid()}, {"address", address()}});
  co_return Result<>{};
}

Task<> Assembly::stop() {
  if (gateway_ && ready_) std::remove(options_.paths.engine_file.c_str());
  ready_ = false;
  co_await engine_->stop();
  if (gateway_) co_await gateway_->stop(kFrontGrace);
  co_await backends_->stop();
  co_await tool_runner_->close();
  co_await hooks_.close();
  log::info("app", "stopped", {{"pid", ::getpid()}});
}

}  // namespace chela::app
