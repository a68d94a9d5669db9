// The commands that look after an installation: they work without an engine, and with a configuration that is broken.

#include <unistd.h>

#include "api/operations.h"
#include "app/configuration.h"
#include "app/doctor.h"
#include "app/onboard.h"
#include "app/program.h"
#include "app/service.h"
#include "app/status.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/local_client.h"
#include "cli/remote_client.h"
#include "cli/secret_input.h"
#include "net/curl_client.h"
#include "os/file.h"
#include "runtime/pool.h"
#include "security/authenticator.h"
#include "security/file_vault.h"

namespace chela::app {

Task<int> Program::doctor(cli::DoctorCommand command) {
  const Result<config::Config> loaded = load_error_ ? Result<config::Config>(fail(*load_error_)) : *config_;
  const Patient patient{.loop = loop_,
                        .poller = *poller_,
                        .paths = paths_,
                        .environment = environment_,
                        .config = loaded,
                        .config_path = paths_.config};
  const std::vector<cli::Check> checks = co_await examine(patient, leaving_.get_token());
  if (leaving_.stop_requested()) co_return exit_code(Code::kCancelled);
  if (command.json)
    output_.line(json::write(cli::report_json(checks)));
  else
    output_.text(cli::report_text(checks));
  co_return cli::report_exit_code(checks);
}

// The link that logs in goes to a terminal only: anything else might keep it.
std::string Program::web_page(const EngineFile& engine) const {
  const auto port = engine.ports.find("gateway");
  if (port == engine.ports.end() || port->second == 0 || !config_) return {};
  const config::GatewaySettings& gateway = config_->settings().gateway;
  const std::string page = address_of(gateway.host, port->second) + "/";
  if (::isatty(STDOUT_FILENO) != 1) return page;
  const Result<std::string> token = security::ensure_gateway_token(paths_.home, gateway.auth_token);
  return token ? page + "?token=" + *token : page;
}

Task<int> Program::show_status(cli::StatusCommand command) {
  const std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop_);
  const EngineState state = co_await engine_state(loop_, *http, paths_, leaving_.get_token());
  json::Value status = json::Value::object({{"running", state.kind == EngineState::Kind::kAlive}});
  if (state.kind == EngineState::Kind::kAlive) {
    const Result<EngineFile> file = read_engine_file(paths_.engine_file);
    if (!file) co_return cli::report_error(file.error(), output_);
    const api::Services none;
    op::Registry registry;
    if (const Result<> added = api::add_operations(registry, none); !added)
      co_return cli::report_error(added.error(), output_);
    cli::RemoteClient client(*http, registry, file->socket);
    const Result<json::Value> engine =
        co_await client.call("system::status", json::Value::object(), leaving_.get_token());
    if (!engine) co_return cli::report_error(engine.error(), output_);
    const Result<json::Value> threads = co_await client.call(
        "thread::list", json::Value::object({{"limit", kMaxCountedThreads}}), leaving_.get_token());
    co_await client.close();
    add_engine_status(status, *engine, threads ? *threads : json::Value(), memory_of(file->pid));
    if (!command.json) status.set("web_page", web_page(*file));
  } else if (state.kind == EngineState::Kind::kSilent) {
    status.set("problem", "a process has this home but does not answer: " + state.text);
  }
  status.set("home", paths_.home);
  status.set("config", paths_.config);
  if (!status.find("model") && config_) status.set("model", config_->settings().llm.model);
  if (load_error_) status.set("config_error", load_error_->message);
  if (command.json)
    output_.line(json::write(status));
  else
    output_.text(status_text(status));
  co_return 0;
}

Task<int> Program::service(cli::ServiceCommand command) {
  const ServiceParts parts{
      .loop = loop_, .poller = *poller_, .paths = paths_, .environment = environment_, .output = output_};
  co_return co_await run_service(parts, command, leaving_.get_token());
}

// --- The wizard

Task<int> Program::onboard(cli::OnboardCommand command) {
  if (::isatty(STDIN_FILENO) != 1) {
    co_return cli::report_error(
        Error{.code = Code::kInvalidArgument,
              .message = "chela onboard asks questions and needs a terminal; without one write " +
                         paths_.config +
                         " (chela config lists the keys), keep keys with `chela secret set`, and fetch the "
                         "local model with "
                         "`chela models pull local/small`"},
        output_);
  }
  const std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop_);
  HomePorts ports(
      {.probe =
           {.loop = loop_, .poller = *poller_, .http = *http, .paths = paths_, .environment = environment_},
       .output = output_,
       .configuration = [this]() -> Result<config::Config> {
         const Result<config::Sources> sources =
             read_sources(paths_, line_.settings, environment_, MissingSecrets::kLeaveOut);
         if (!sources) return fail(sources.error());
         return config::Config::load(*sources);
       },
       .fetch_local_model = [this] { return fetch_local_model(); },
       .stop = leaving_.get_token()});
  cli::DescriptorLines lines(*poller_, STDIN_FILENO);
  Wizard wizard(ports, lines, output_, command.skip_auth ? WizardKeys::kSkip : WizardKeys::kAsk,
                leaving_.get_token());
  co_return co_await wizard.run();
}

// Once in a home, to a person at a terminal for whom nothing says yet which model is to answer.
Task<Result<>> Program::offer_wizard(cli::RunCommand command) {
  const auto done = environment_.find("ONBOARD_COMPLETED");
  if (command.no_onboard || command.message || command.headless || ::isatty(STDIN_FILENO) != 1 ||
      ::isatty(STDERR_FILENO) != 1 ||
      (done != environment_.end() && (done->second == "true" || done->second == "1")) ||
      was_onboarded(paths_) || is_configured(*config_, paths_))
    co_return Result<>{};
  cli::DescriptorLines lines(*poller_, STDIN_FILENO);
  const Result<YesNo> answer = co_await ask_yes_no(
      lines, output_, "Nothing is configured yet. Choose a model now (else the small local one answers)?",
      leaving_.get_token());
  if (!answer) co_return fail(answer.error());
  if (*answer == YesNo::kUnclear) co_return Result<>{};  // asked again at the next start
  if (*answer == YesNo::kNo) {
    co_return os::write_file_atomic(paths_.home + "/onboard.json",
                                    "{\"v\":1,\"step\":\"done\",\"backend\":\"\"}\n", 0600);
  }
  if (const int code = co_await onboard({}); code != 0)
    co_return fail(Code::kCancelled, "not set up; chela onboard goes on");
  Result<config::Sources> sources = read_sources(paths_, line_.settings, environment_);
  if (!sources) co_return fail(sources.error());
  Result<config::Config> config = config::Config::load(*sources);
  if (!config) co_return fail(config.error());
  sources_ = std::move(*sources);
  config_ = std::move(*config);
  hide_secrets(*config_, {}, environment_);
  co_return Result<>{};
}

// --- The vault

// Without an engine the vault alone is enough: what the rest is configured with may lie in it.
Task<int> Program::with_vault(cli::OperationCommand command) {
  const auto use = [this, command](cli::Client& client, const op::Registry& registry) {
    return cli::run_operation(client, registry, command, output_, leaving_.get_token());
  };
  Result<Home> home = co_await take_home();
  if (!home) co_return cli::report_error(home.error(), output_);
  if (home->running) co_return co_await use_running(*home->running, use);
  runtime::Pool pool(loop_, 1);
  security::FileVault vault(paths_.home, config_->settings().secrets.master_key, pool, loop_.clock());
  const api::Services services{.vault = &vault};
  op::Registry registry;
  if (const Result<> added = api::add_vault(registry, services); !added)
    co_return cli::report_error(added.error(), output_);
  cli::LocalClient client(loop_, registry, security::owner_principal(config_->settings().gateway.user_id));
  const int code = co_await use(client, registry);
  co_await client.close();
  co_return code;
}

Task<int> Program::keep_secret(cli::SecretCommand command) {
  if (const Result<> good = security::check_secret_name(command.name); !good)
    co_return cli::report_error(good.error(), output_);
  const Result<crypto::Secret> value =
      co_await cli::read_secret(*poller_, STDIN_FILENO, command.name + ": ", output_, leaving_.get_token());
  if (!value) co_return cli::report_error(value.error(), output_);
  co_return co_await with_vault(
      {.operation = "vault::set",
       .args = json::Value::object({{"name", command.name}, {"value", value->view()}}),
       .json = command.json});
}

}  // namespace chela::app
