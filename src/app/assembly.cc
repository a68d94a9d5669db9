#include "app/assembly.h"

#include <unistd.h>

#include <cstdio>

#include "agent/make_engine.h"
#include "api/operations.h"
#include "app/agents.h"
#include "app/bus_modules.h"
#include "app/catalog.h"
#include "app/embedding_sources.h"
#include "bus/operation_functions.h"
#include "llm/budget/budget_embeddings.h"
#include "llm/budget/budget_provider.h"
#include "llm/budget/budget_tool.h"
#include "llm/local/infer_process.h"
#include "memory/documents.h"
#include "memory/identity.h"
#include "memory/memory_tools.h"
#include "net/curl_client.h"
#include "obs/log.h"
#include "os/notify.h"
#include "tools/builtin/builtin.h"

namespace chela::app {
namespace {

constexpr auto kFrontGrace = std::chrono::seconds(2);  // for connections to take their last bytes

agent::EngineSettings engine_settings(const config::Settings& settings) {
  return {.max_iterations = settings.agent.max_tool_iterations,
          .busy = settings.agent.busy == config::WhenBusy::kQueue ? agent::WhenBusy::kQueue
                                                                  : agent::WhenBusy::kSteer,
          .max_message_bytes = settings.limits.message_bytes,
          .max_subscribers = settings.limits.event_subscribers};
}

tools::RunnerOptions runner_options(const config::Settings& settings) {
  return {.timeout = settings.tools.timeout,
          .max_result_bytes = kMaxToolResultBytes,
          .auto_approve = settings.agent.auto_approve_tools};
}

}  // namespace

Assembly::Assembly(runtime::AsioLoop& loop, os::Poller& poller, os::FileLock lock,
                   std::unique_ptr<Foundation> foundation, Options options)
    : loop_(loop),
      poller_(poller),
      lock_(std::move(lock)),
      options_(std::move(options)),
      owner_(security::owner_principal(foundation->settings().gateway.user_id)),
      started_at_(loop.clock().now()),
      foundation_(std::move(foundation)),
      tasks_(loop),
      ids_(loop.clock()),
      own_http_(options_.http == nullptr ? net::make_curl_client(loop) : nullptr),
      http_(options_.http == nullptr ? *own_http_ : *options_.http),
      workspaces_(options_.paths.workspaces),
      uploads_(foundation_->pool(), workspaces_),
      hooks_(loop),
      vault_(options_.paths.home, settings().secrets.master_key, foundation_->pool(), loop.clock()),
      keys_(&foundation_->live().running(), options_.environment, vault_, owner_.scope()),
      recorder_(
          {.loop = loop, .pool = foundation_->pool(), .vault = vault_, .folder = options_.paths.traces}) {
  vault_.on_change([this] { return keys_.read_names(); });
}

Assembly::~Assembly() = default;

Result<std::unique_ptr<Assembly>> Assembly::create(runtime::AsioLoop& loop, os::Poller& poller,
                                                   os::FileLock lock, std::unique_ptr<Foundation> foundation,
                                                   Options options) {
  if (foundation->refused()) {
    Error why = *foundation->refused();
    why.message += "; `chela config reset KEY` forgets a stored setting";
    return fail(std::move(why));
  }
  std::unique_ptr<Assembly> made(
      new Assembly(loop, poller, std::move(lock), std::move(foundation), std::move(options)));
  if (Result<> built = made->build(); !built) return fail(built.error());
  return made;
}

Result<> Assembly::build() {
  for (const auto step :
       {&Assembly::open_memory, &Assembly::make_models, &Assembly::make_tools, &Assembly::make_engine,
        &Assembly::make_front, &Assembly::make_bus, &Assembly::follow_settings}) {
    if (Result<> done = (this->*step)(); !done) return done;
  }
  return {};
}

Result<> Assembly::open_memory() {
  // Whoever needs a secret hears it again; everybody else can go on without.
  if (const Result<> good = vault_.file().check(); !good) {
    log::error("security", "the vault cannot be used", {{"error", good.error().message}});
  }
  memory_ = std::make_unique<memory::Workspace>(foundation_->database().memory(), ids_, loop_.clock());
  own_knowledge_ = std::make_unique<WorkspaceKnowledge>(*memory_);
  knowledge_ = std::make_unique<BusKnowledge>(*own_knowledge_);
  return {};
}

// Limits of the settings, and those that agents' files have for them.
config::BudgetSettings Assembly::budget_settings(const config::Settings& settings) const {
  config::BudgetSettings all = settings.budget;
  all.rules.insert(all.rules.end(), agent_budgets_.begin(), agent_budgets_.end());
  return all;
}

Result<> Assembly::make_models() {
  Result<llm::ModelData> data = read_model_data(options_.share, options_.paths.home);
  if (!data) return fail(data.error());
  llm::LocalPaths paths{.infer_program = llm::local::beside_this_program("chela-infer"),
                        .models_dir = options_.paths.models,
                        .socket = options_.paths.infer_socket};
  Result<std::vector<config::BudgetRule>> own = load_agent_budgets(options_.paths.agents);
  if (!own) return fail(std::move(own.error()));
  agent_budgets_ = std::move(*own);
  budget_ = std::make_unique<llm::budget::Budget>(
      llm::budget::Budget::Parts{.loop = loop_,
                                 .ids = ids_,
                                 .store = foundation_->database().budget(),
                                 .metrics = metrics_,
                                 .model = [this](std::string_view model) { return backends_->info(model); }},
      budget_settings(settings()));
  const auto count = [this](llm::Provider& inner) -> std::unique_ptr<llm::Provider> {
    return std::make_unique<llm::budget::BudgetProvider>(inner, *budget_);
  };
  Result<std::unique_ptr<llm::Backends>> backends = llm::Backends::create(
      settings().llm, settings().infer, std::move(*data), std::move(paths),
      {.loop = loop_, .poller = poller_, .http = http_, .ids = ids_, .keys = keys_, .count = count});
  if (!backends) return fail(backends.error());
  backends_ = std::move(*backends);
  models_front_ = std::make_unique<llm::Front>(*backends_, settings().llm, loop_);
  models_ = std::make_unique<ModelAccess>(ModelAccess::Parts{
      .loop = loop_,
      .metrics = metrics_,
      .store = foundation_->database().response_cache(),
      .backends = *backends_,
      .own = [this](std::string_view model) -> llm::Provider& { return models_front_->provider_for(model); },
      .settings = [this]() -> const config::LlmSettings& { return settings().llm; },
      .asking = owner_,
      .count = count});
  if (options_.model != nullptr)
    only_model_ =
        std::make_unique<llm::RetryProvider>(*options_.model, loop_, ids_, settings().llm.max_retries);
  return {};
}

Result<> Assembly::make_tools() {
  const tools::BuiltinParts parts{.clock = loop_.clock(),
                                  .pool = foundation_->pool(),
                                  .workspaces = workspaces_,
                                  .protected_files = memory::identity_names(),
                                  .vault = vault_};
  if (Result<> added = tools::add_builtin_tools(tools_, parts); !added) return added;
  if (Result<> added = memory::add_memory_tools(tools_, *memory_); !added) return added;
  if (Result<> added = tools_.add(llm::budget::make_budget_tool(*budget_), "core"); !added) return added;
  tool_runner_ = std::make_unique<tools::Runner>(loop_, tools_, hooks_, runner_options(settings()));
  return {};
}

Result<> Assembly::make_engine() {
  Result<std::vector<agent::AgentSpec>> agents = load_agent_specs(options_.paths.agents, settings());
  if (!agents) return fail(agents.error());
  const auto choose_model = [this](const agent::AgentSpec& agent) -> Result<agent::ModelChoice> {
    const std::string model = agent.model.empty() ? backends_->default_model() : agent.model;
    if (Result<> good = backends_->check(model); !good) return fail(std::move(good.error()));
    const llm::ModelInfo info = backends_->info(model);
    const std::int64_t known = info.context_tokens;
    // With tools in the prompt a request looks as if it had none: routing would mistake it.
    const llm::ToolCalling calling = agent.tool_calling.value_or(info.tools);
    const bool routed = agent.model.empty() && calling == llm::ToolCalling::kNative;
    return agent::ModelChoice{.provider = &provider_for(routed ? std::string_view() : model),
                              .model = model,
                              .context_tokens = known > 0 ? known : settings().agent.context_tokens,
                              .sees_images = info.sees_images,
                              .prompt = info.prompt,
                              .tools = calling};
  };
  engine_ = agent::make_engine(
      {.loop = loop_,
       .ids = ids_,
       .log = foundation_->database().turn_log(),
       .blobs = foundation_->database().blobs(),
       .settings_store = foundation_->database().settings(),
       .tools = tools_,
       .tool_runner = *tool_runner_,
       .hooks = hooks_,
       .metrics = metrics_,
       .knowledge = *knowledge_,
       .uploads = uploads_,
       .vault = vault_,
       .choose_model = choose_model,
       .agents = std::move(*agents),
       .settings = engine_settings(settings()),
       .version = CHELA_VERSION,
       .on_turn_end = [this](const Scope& scope, const std::string& thread, const std::string& turn) {
         recorder_.turn_ended(scope, thread);
         if (memories_) memories_->turn_ended(scope, thread, turn);
       }});
  recorder_.use(*engine_);
  recorder_.configure(settings().traces);
  return {};
}

Result<> Assembly::make_front() {
  tokens_ = std::make_unique<security::TokenService>(foundation_->database().tokens(), loop_.clock());
  services_ = {
      .loop = &loop_,
      .ids = &ids_,
      .engine = engine_.get(),
      .memory = memory_.get(),
      .tokens = tokens_.get(),
      .vault = &vault_,
      .tools = &tools_,
      .settings = &foundation_->service(),
      .backends = backends_.get(),
      .budget = budget_.get(),
      .routing = &models_->routing(),
      .provider_for = [this](std::string_view model) -> llm::Provider& { return provider_for(model); },
      .tool_calling = [this](std::string_view model) { return backends_->info(model).tools; },
      .embed = [this](llm::EmbeddingRequest request, std::optional<SteadyTime> deadline,
                      std::stop_token stop) { return embed(std::move(request), deadline, std::move(stop)); },
      .models =
          [this] {
            return api::ModelSettings{.backend = backends_->backend_id(),
                                      .model = backends_->default_model()};
          },
      .price = [this](std::string_view model) { return backends_->info(model).price; },
      .status = [this] { return status(); },
      .call_function =
          [this](op::CallContext context, std::string id, json::Value data) {
            return call_function(std::move(context), std::move(id), std::move(data));
          },
      .ready = [this] { return ready_; }};
  if (Result<> added = api::add_operations(operations_, services_); !added) return added;
  if (options_.front == Front::kNone) return {};
  Result<std::string> token =
      security::ensure_gateway_token(options_.paths.home, settings().gateway.auth_token);
  if (!token) return fail(token.error());
  gateway_token_ = std::move(*token);
  failed_logins_ = std::make_unique<security::FailedLogins>(
      loop_.clock(), security::FailedLogins::Limits{.failures = settings().limits.failed_logins});
  authenticator_ = std::make_unique<security::Authenticator>(*tokens_, *failed_logins_, gateway_token_,
                                                             settings().gateway.user_id);
  using Tcp = gateway::GatewayOptions::Tcp;
  gateway::GatewayOptions options{.host = settings().gateway.host,
                                  .port = settings().gateway.port,
                                  .tcp = options_.front == Front::kSocketAndTcp ? Tcp::kListen : Tcp::kOff,
                                  .socket = options_.paths.socket,
                                  .body_bytes = settings().limits.body_bytes,
                                  .v1_body_bytes = settings().limits.v1_body_bytes,
                                  .header_bytes = settings().limits.header_bytes,
                                  .header_timeout = settings().limits.header_timeout,
                                  .connections = settings().limits.connections,
                                  .measure = [this] {
                                    if (bus_) bus_->measure();
                                  }};
  gateway_ = std::make_unique<gateway::Gateway>(loop_, operations_, *authenticator_, owner_, metrics_,
                                                std::move(options));
  return {};
}

// A model, or the worker that answers in its place.
llm::Provider& Assembly::provider_for(std::string_view model) {
  if (only_model_) return *only_model_;
  return model.empty() ? models_->unnamed() : models_->named(model);
}

// Texts as vectors, counted either way.
Task<Result<llm::Embeddings>> Assembly::embed(llm::EmbeddingRequest request,
                                              std::optional<SteadyTime> deadline, std::stop_token stop) {
  OwnEmbeddings own(*backends_);
  std::optional<WorkerEmbeddings> worker;
  if (embedder_ && embedder_->ready(request.caller.scope)) worker.emplace(*embedder_);
  llm::EmbeddingProvider& source = worker ? static_cast<llm::EmbeddingProvider&>(*worker) : own;
  llm::budget::BudgetEmbeddings counted(source, *budget_);
  co_return co_await counted.embed(std::move(request), deadline, std::move(stop));
}

// Workers connect where clients of the gateway may; a process without TCP has no bus.
Result<> Assembly::make_bus() {
  const config::BusSettings& wanted = settings().bus;
  if (options_.front != Front::kSocketAndTcp || !wanted.enabled) return {};
  const auto authenticate = [this](bus::Visitor visitor) { return bus_login(std::move(visitor)); };
  bus_ = std::make_unique<BusHost>(
      BusHost::Parts{
          .loop = loop_,
          .poller = poller_,
          .pool = foundation_->pool(),
          .ids = ids_,
          .metrics = metrics_,
          .http = http_,
          .restore_rights = [this](op::Principal principal) { return restore_rights(std::move(principal)); }},
      BusHost::Options{.call_timeout = wanted.call_timeout,
                       .authenticate = authenticate,
                       .directory = options_.paths.bus,
                       .advice = "choose another bus.port, or bus.enabled = false"});
  if (Result<> added = bus::add_operation_functions(bus_->bus(), operations_); !added) return added;
  detour_ = std::make_unique<bus::OperationDetour>(bus_->bus());
  operations_.set_detour(*detour_);
  knowledge_->use(bus_->bus());
  memories_ = std::make_unique<BusMemories>(loop_, *engine_, bus_->bus());
  models_->use(bus_->bus());
  embedder_ = std::make_unique<memory::BusEmbedder>(bus_->bus());
  memory_->use(*embedder_);
  worker_tools_ = std::make_unique<tools::WorkerTools>(bus_->bus(), tools_);
  tools_.add_source(*worker_tools_, std::string(tools::kWorkerToolGroup));
  bus_->add_listener({.host = wanted.host, .port = wanted.port, .authenticate = authenticate});
  return bus_->load(bus_modules(), modules_of_run(wanted));
}

Task<Result<json::Value>> Assembly::call_function(op::CallContext context, std::string id, json::Value data) {
  if (!bus_) co_return fail(Code::kUnavailable, "this engine runs without the bus (bus.enabled)");
  co_return co_await bus_->bus().call(std::move(context), std::move(id), std::move(data));
}

Task<Result<bus::Admission>> Assembly::bus_login(bus::Visitor visitor) {
  Result<op::Principal> caller =
      co_await authenticator_->login(std::move(visitor.token), std::move(visitor.peer));
  if (!caller) co_return fail(caller.error());
  Result<bus::Rights> rights = co_await restore_rights(std::move(*caller));
  if (!rights) co_return fail(rights.error());
  co_return bus::Admission{.rights = std::move(*rights)};
}

// What holds until the token behind the principal ends.
Task<Result<bus::Rights>> Assembly::restore_rights(op::Principal principal) {
  Result<std::shared_ptr<const security::TokenLease>> lease =
      co_await authenticator_->watch(loop_, principal);
  if (!lease) co_return fail(lease.error());
  const std::stop_token ended = (*lease)->ended();
  co_return bus::Rights{.principal = std::move(principal), .ended = ended, .lease = std::move(*lease)};
}

// What counts at once, and who is told.
Result<> Assembly::follow_settings() {
  config::Live& live = foundation_->live();
  live.subscribe({"log.level"}, [](const config::Settings& now) {
    if (const Result<> set = log::set_level(now.log.level); !set)
      log::error("app", "the level of the log cannot be changed", {{"error", set.error().message}});
  });
  live.subscribe({"agent.auto_approve_tools", "tools.timeout"},
                 [this](const config::Settings& now) { tool_runner_->configure(runner_options(now)); });
  live.subscribe({"agent.busy", "agent.max_tool_iterations", "limits.event_subscribers", "limits.message"},
                 [this](const config::Settings& now) { engine_->configure(engine_settings(now)); });
  live.subscribe({"budget.actions_per_hour", "budget.day_cents", "budget.limits", "budget.month_cents",
                  "budget.timezone", "budget.unpriced", "budget.warn_percent"},
                 [this](const config::Settings& now) { budget_->configure(budget_settings(now)); });
  live.subscribe({"llm.failover_cooldown", "llm.failover_threshold", "llm.fallback"},
                 [this](const config::Settings& now) { models_front_->configure(now.llm); });
  live.subscribe({"llm.model", "ollama.model", "openai.model"}, [this](const config::Settings& now) {
    backends_->set_default_model(now.llm.model, now.llm.model_naming);
  });
  // They are read at each call.
  live.subscribe(
      {"llm.cache", "llm.cache_entries", "llm.cache_ttl", "llm.cascade", "llm.cheap_model", "llm.routing"},
      [](const config::Settings&) {});
  live.subscribe({"traces.model_name", "traces.output", "traces.record"},
                 [this](const config::Settings& now) { recorder_.configure(now.traces); });
  if (const auto unheard = live.unheard(); !unheard.empty())
    return fail(Code::kInternal, "nothing follows the setting {}", unheard.front());
  // The log was opened before the table could be read.
  return log::set_level(settings().log.level);
}

void Assembly::reload() { tasks_.spawn(reload_configuration()); }

Task<> Assembly::reload_configuration() {
  if (const Result<> done = co_await foundation_->service().reload(); !done) {
    log::error("config", "the configuration stays as it is", {{"error", done.error().message}});
    co_return;
  }
  size_t waiting = 0;
  for (const config::Key& key : config::keys())
    waiting += foundation_->live().waits_for_restart(key.name) ? 1 : 0;
  log::info("config", "read again", {{"waiting_for_restart", waiting}});
}

api::Status Assembly::status() const {
  api::Status now{
      .version = CHELA_VERSION, .pid = ::getpid(), .started_at = started_at_, .home = options_.paths.home};
  if (gateway_) {
    now.socket = options_.paths.socket;
    if (gateway_->port() != 0) now.ports["gateway"] = gateway_->port();
    now.connections = gateway_->connections();
    now.event_streams = gateway_->event_streams();
    now.sockets = gateway_->sockets();
  }
  if (bus_) now.ports.merge(bus_->ports());
  return now;
}

std::string Assembly::address() const {
  if (!gateway_ || gateway_->port() == 0) return {};
  const std::string& host = settings().gateway.host;
  const bool ipv6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}", ipv6 ? "[" + host + "]" : host, gateway_->port());
}

// Files that a person put into the workspace's root become documents.
Task<> Assembly::import_identity() {
  const Scope scope = owner_.scope();
  const memory::ImportReport report = co_await memory::import_identity_files(
      *memory_, foundation_->pool(), scope, workspaces_.folder_of(scope));
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

// The manager's loss is not ours: a service that cannot say that it runs still runs.
void Assembly::notify(std::string_view state) const {
  if (const Result<> told = os::notify_manager(options_.notify_socket, state); !told)
    log::warn("app", "the service manager could not be told", {{"error", told.error().message}});
}

Task<Result<>> Assembly::start() {
  co_await keys_.read_names();
  if (gateway_) budget_->start();  // a command that calls no model counts nothing
  co_await import_identity();
  if (Result<> recovered = co_await engine_->recover(); !recovered) co_return recovered;
  if (gateway_) {
    if (Result<> listening = gateway_->listen(); !listening) co_return listening;
    if (bus_) {
      if (Result<> started = co_await bus_->start(); !started) co_return started;
    }
    if (Result<> told = announce(); !told) co_return told;
  }
  ready_ = true;
  notify(fmt::format("READY=1\nMAINPID={}\nSTATUS=Serving {}", ::getpid(), address()));
  log::info("app", "ready", {{"version", CHELA_VERSION}, {"pid", ::getpid()}, {"address", address()}});
  co_return Result<>{};
}

Task<> Assembly::stop() {
  if (gateway_ && ready_) std::remove(options_.paths.engine_file.c_str());
  ready_ = false;
  notify("STOPPING=1");
  co_await tasks_.join();
  co_await engine_->stop();
  co_await recorder_.close();
  if (memories_) co_await memories_->close();
  if (bus_) co_await bus_->stop();
  if (gateway_) co_await gateway_->stop(kFrontGrace);
  co_await backends_->stop();
  co_await models_->stop();
  co_await budget_->stop();
  co_await tool_runner_->close();
  co_await hooks_.close();
  log::info("app", "stopped", {{"pid", ::getpid()}});
}

}  // namespace chela::app
