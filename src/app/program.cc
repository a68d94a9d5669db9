#include "app/program.h"
#include "app/catalog.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "api/operations.h"
#include "app/agents.h"
#include "app/configuration.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/local_client.h"
#include "cli/remote_client.h"
#include "cli/thread_list.h"
#include "config/file_template.h"
#include "net/curl_client.h"
#include "obs/log.h"
#include "os/environment.h"
#include "os/file.h"
#include "runtime/sleep.h"
#include "runtime/task_group.h"
#include "security/authenticator.h"
#include "tui/glyphs.h"
#include "tui/terminal.h"

namespace chela::app {
namespace {

// How long a command waits for an engine that is just starting or stopping.
constexpr auto kHomeWait = std::chrono::seconds(10);
constexpr auto kHomePoll = std::chrono::milliseconds(50);
constexpr mode_t kConfigMode = 0600;

// Where systemd wants to hear of this process; "" when it did not start it.
std::string notify_socket(const std::map<std::string, std::string>& environment) {
  const auto found = environment.find("NOTIFY_SOCKET");
  return found == environment.end() ? "" : found->second;
}

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

// Commands of the vault and of settings, and the wizard, work while the configuration waits for what they put there.
bool mends_configuration(const cli::CommandLine& line) {
  const auto* command = std::get_if<cli::OperationCommand>(&line.command);
  return std::holds_alternative<cli::OnboardCommand>(line.command) ||
         std::holds_alternative<cli::SecretCommand>(line.command) ||
         (command &&
          (command->operation.starts_with("vault::") || command->operation.starts_with("setting::")));
}

// Commands that need no configuration and touch nothing in the home.
bool looks_only(const cli::CommandLine& line) {
  return std::holds_alternative<cli::DoctorCommand>(line.command) ||
         std::holds_alternative<cli::StatusCommand>(line.command) ||
         std::holds_alternative<cli::ServiceCommand>(line.command);
}

}  // namespace

int Program::run() {
  const Result<> prepared = prepare();
  if (!prepared && !completing()) return cli::report_error(prepared.error(), output_);
  if (const auto* file = std::get_if<cli::ConfigFileCommand>(&line_.command)) return config_file(*file);
  // Signals first: every thread that starts from here on leaves them to the watch.
  const std::vector<int> signals{SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT};
  os::block_signals(signals);
  std::signal(SIGPIPE, SIG_IGN);
  Result<std::unique_ptr<os::Poller>> poller = os::Poller::create(loop_);
  if (!poller) return cli::report_error(poller.error(), output_);
  poller_ = std::move(*poller);
  Result<std::unique_ptr<os::SignalWatch>> watch =
      os::SignalWatch::create(*poller_, signals, [this](int number) { on_signal(number); });
  if (!watch) return cli::report_error(watch.error(), output_);
  const int code = runtime::block_on(loop_, dispatch());
  runtime::block_on(loop_, (*watch)->close());
  log::stop();
  return code;
}

Result<> Program::prepare() {
  environment_ = os::environment();
  Result<Paths> paths = paths_for(line_.home, environment_);
  if (!paths) return fail(paths.error());
  paths_ = std::move(*paths);
  if (std::holds_alternative<cli::ConfigFileCommand>(line_.command)) return {};
  Result<config::Sources> sources =
      read_sources(paths_, line_.settings, environment_,
                   mends_configuration(line_) ? MissingSecrets::kLeaveOut : MissingSecrets::kFail);
  Result<config::Config> config =
      sources ? config::Config::load(*sources) : Result<config::Config>(fail(sources.error()));
  if (config) {
    sources_ = std::move(*sources);
    config_ = std::move(*config);
    hide_secrets(*config_,
                 completing() ? std::vector<std::string>() : key_variables(environment_, paths_.home),
                 environment_);
    apply_to_run();
  } else if (looks_only(line_)) {
    load_error_ = config.error();
    os::scrub_environment(config::Config::secret_variables());
  } else {
    return fail(config.error());
  }
  if (looks_only(line_) || completing()) return {};
  if (Result<> made = make_folders(paths_); !made) return made;
  return start_log();
}

// What `chela run` does where the command line leaves it open.
void Program::apply_to_run() {
  auto* run = std::get_if<cli::RunCommand>(&line_.command);
  if (run && !run->message && !run->cli_only && !config_->settings().cli.enabled) run->headless = true;
}

Result<> Program::start_log() const {
  const config::LogSettings& settings = config_->settings().log;
  std::filesystem::path file = settings.file;
  if (!file.empty() && file.is_relative()) file = std::filesystem::path(paths_.home) / file;
  const auto* run = std::get_if<cli::RunCommand>(&line_.command);
  log::Options options{.file = file.string(), .file_level = settings.level};
  if (is_terminal(STDERR_FILENO) && !uses_screen())
    options.terminal_level = run && run->headless ? log::Level::kInfo : log::Level::kWarn;
  return log::start(options);
}

void Program::on_signal(int number) {
  if (number == SIGWINCH || number == SIGCONT) {
    if (on_screen_) on_screen_(number);
  } else if (number == SIGINT && on_interrupt_) {
    on_interrupt_();
  } else if (number == SIGHUP && on_hangup_) {
    on_hangup_();
  } else if (leaving_.stop_requested()) {
    tui::restore_terminal();
    ::_exit(exit_code(Code::kCancelled));  // asked twice: now
  } else {
    leaving_.request_stop();
    if (on_leave_) on_leave_();
  }
}

int Program::config_file(const cli::ConfigFileCommand& command) const {
  if (command.action == cli::ConfigFileCommand::Action::kPath) {
    output_.line(paths_.config);
    return 0;
  }
  const std::string path = command.output.empty() ? paths_.config : command.output;
  if (command.replace == cli::ConfigFileCommand::Replace::kNo && std::filesystem::exists(path)) {
    return cli::report_error(Error{.code = Code::kConflict,
                                   .message = fmt::format("{} is there already; --force replaces it", path)},
                             output_);
  }
  if (command.output.empty()) {
    if (const Result<> made = make_folders(paths_); !made) return cli::report_error(made.error(), output_);
  }
  if (const Result<> written = os::write_file_atomic(path, config::file_template(), kConfigMode); !written)
    return cli::report_error(written.error(), output_);
  output_.line(path);
  return 0;
}

Task<int> Program::dispatch() {
  if (const auto* command = std::get_if<cli::SecretCommand>(&line_.command))
    co_return co_await keep_secret(*command);
  if (const auto* command = std::get_if<cli::OperationCommand>(&line_.command)) {
    if (command->operation.starts_with("vault::")) co_return co_await with_vault(*command);
    if (command->operation.starts_with("setting::")) co_return co_await with_settings(*command);
    const auto use = [this, command](cli::Client& client, const op::Registry& registry) {
      return cli::run_operation(client, registry, *command, output_, leaving_.get_token());
    };
    co_return co_await with_client(use, Foundation::Storage::kFile, Fetch::kNo);
  }
  if (const auto* command = std::get_if<cli::RouteCommand>(&line_.command))
    co_return co_await inspect_route(*command);
  if (const auto* command = std::get_if<cli::BusCommand>(&line_.command))
    co_return co_await call_function(*command);
  if (const auto* command = std::get_if<cli::CompleteCommand>(&line_.command))
    co_return co_await complete(command->words);
  if (const auto* command = std::get_if<cli::DoctorCommand>(&line_.command))
    co_return co_await doctor(*command);
  if (const auto* command = std::get_if<cli::StatusCommand>(&line_.command))
    co_return co_await show_status(*command);
  if (const auto* command = std::get_if<cli::OnboardCommand>(&line_.command))
    co_return co_await onboard(*command);
  if (const auto* command = std::get_if<cli::ServiceCommand>(&line_.command))
    co_return co_await service(*command);
  if (const auto* command = std::get_if<cli::PullCommand>(&line_.command))
    co_return co_await pull(command->model);
  co_return co_await run_engine(std::get<cli::RunCommand>(line_.command));
}

// --- Who has the home

Result<Program::Home> Program::try_home() const {
  Result<os::FileLock> lock = os::FileLock::acquire(paths_.lock);
  if (lock) return Home{.lock = std::move(*lock)};
  if (lock.error().code != Code::kConflict) return fail(lock.error());
  const std::string owner(lock.error().detail("pid"));
  Result<EngineFile> file = read_engine_file(paths_.engine_file);
  if (file && std::to_string(file->pid) == owner) return Home{.running = std::move(*file)};
  return fail(Error{.code = Code::kConflict,
                    .message = fmt::format("another chela (pid {}) is using {}; wait for it, or end it",
                                           owner, paths_.home)});
}

Task<Result<Program::Home>> Program::take_home() {
  const SteadyTime until = loop_.clock().steady() + kHomeWait;
  while (true) {
    Result<Home> home = try_home();
    if (home || home.error().code != Code::kConflict || loop_.clock().steady() >= until) co_return home;
    if (const Result<> slept = co_await runtime::sleep_for(loop_, kHomePoll, leaving_.get_token()); !slept)
      co_return fail(slept.error());
  }
}

Task<Result<std::unique_ptr<Foundation>>> Program::found(Foundation::Storage storage) {
  co_return co_await Foundation::open(loop_, {.paths = paths_,
                                              .sources = sources_,
                                              .user = config_->settings().gateway.user_id,
                                              .storage = storage});
}

Result<std::unique_ptr<Assembly>> Program::assemble(os::FileLock lock, std::unique_ptr<Foundation> foundation,
                                                    Assembly::Front front) {
  Result<std::string> share = share_folder(environment_);
  if (!share) return fail(share.error());
  return Assembly::create(
      loop_, *poller_, std::move(lock), std::move(foundation),
      {.paths = paths_,
       .share = std::move(*share),
       .environment = environment_,
       .notify_socket = front == Assembly::Front::kNone ? "" : notify_socket(environment_),
       .front = front});
}

// --- Commands that use an engine

Task<int> Program::use_running(const EngineFile& running,
                               std::function<Task<int>(cli::Client&, const op::Registry&)> use) {
  const api::Services none;  // only the routes are needed: the handlers are the engine's
  op::Registry registry;
  if (const Result<> added = api::add_operations(registry, none); !added)
    co_return cli::report_error(added.error(), output_);
  const std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop_);
  cli::RemoteClient client(*http, registry, running.socket);
  const int code = co_await use(client, registry);
  co_await client.close();
  co_return code;
}

// The engine that runs, or one of this process without listeners, for the time of the command.
Task<int> Program::with_client(std::function<Task<int>(cli::Client&, const op::Registry&)> use,
                               Foundation::Storage storage, Fetch fetch) {
  Result<Home> home = co_await take_home();
  if (!home) co_return cli::report_error(home.error(), output_);
  if (home->running) co_return co_await use_running(*home->running, std::move(use));
  Result<std::unique_ptr<Foundation>> foundation = co_await found(storage);
  if (!foundation) co_return cli::report_error(foundation.error(), output_);
  if (fetch == Fetch::kYes) co_await fetch_missing_models((*foundation)->settings().llm);
  Result<std::unique_ptr<Assembly>> engine =
      assemble(std::move(*home->lock), std::move(*foundation), Assembly::Front::kNone);
  if (!engine) co_return cli::report_error(engine.error(), output_);
  int code = 0;
  if (const Result<> started = co_await (*engine)->start(); !started) {
    code = cli::report_error(started.error(), output_);
  } else {
    cli::LocalClient client(loop_, (*engine)->operations(), (*engine)->owner());
    code = co_await use(client, (*engine)->operations());
    co_await client.close();
  }
  co_await (*engine)->stop();
  co_return code;
}

// --- Settings

// Settings need no more than the store: they can be mended while no engine starts with them.
Task<int> Program::with_settings(cli::OperationCommand command) {
  const auto use = [this, command](cli::Client& client, const op::Registry& registry) {
    return cli::run_operation(client, registry, command, output_, leaving_.get_token());
  };
  Result<Home> home = co_await take_home();
  if (!home) co_return cli::report_error(home.error(), output_);
  if (home->running) co_return co_await use_running(*home->running, use);
  Result<std::unique_ptr<Foundation>> foundation = co_await found(Foundation::Storage::kFile);
  if (!foundation) co_return cli::report_error(foundation.error(), output_);
  if (const auto& refused = (*foundation)->refused())
    output_.note("chela: the stored settings do not count: " + refused->message);
  const api::Services services{.loop = &loop_, .settings = &(*foundation)->service()};
  op::Registry registry;
  if (const Result<> added = api::add_settings(registry, services); !added)
    co_return cli::report_error(added.error(), output_);
  cli::LocalClient client(loop_, registry, security::owner_principal(config_->settings().gateway.user_id));
  const int code = co_await use(client, registry);
  co_await client.close();
  co_return code;
}

// --- Completion

namespace {

Task<int> add_threads(cli::Client& client, std::function<void(std::string, std::string)> add) {
  const Result<json::Value> listed = co_await client.call("thread::list", json::Value::object(), {});
  if (!listed) co_return 0;
  for (const json::Value& each : cli::threads_of(*listed)) add(each.string_or("id"), each.string_or("title"));
  co_return 0;
}

}  // namespace

// Agents are known without an engine, threads only by one that runs: a line that is being typed is worth no start.
Task<int> Program::complete(std::vector<std::string> words) {
  const cli::Completions found = cli::complete(cli::command_tree(), std::move(words));
  std::vector<cli::Completions::Word> all = found.words;
  const auto add = [&](std::string word, std::string help) {
    if (word.starts_with(found.beginning)) all.push_back({.word = std::move(word), .help = std::move(help)});
  };
  if (found.value == "DIR") all.push_back({.word = ":dirs"});
  if (found.value == "FILE") all.push_back({.word = ":files"});
  if (found.value == "KEY" && config_) {
    for (const config::Explained& each : config_->explain_all())
      add(std::string(each.key->name), std::string(each.key->help));
  }
  if (found.value == "AGENT" && config_) {
    const Result<std::vector<agent::AgentSpec>> specs = load_agent_specs(paths_.agents, config_->settings());
    for (size_t i = 0; specs && i < specs->size(); ++i) add((*specs)[i].name, (*specs)[i].description);
  }
  if (found.value == "THREAD") {
    const Result<EngineFile> running =
        read_engine_file(paths_.engine_file);  // the lock is for those who work
    const auto list = [&add](cli::Client& client, const op::Registry&) { return add_threads(client, add); };
    if (running) co_await use_running(*running, list);
  }
  constexpr std::pair<std::string_view, BusList> kOfBus[] = {
      {"FUNCTION",
       {.function = "engine::functions::list",
        .list = "functions",
        .word = "function_id",
        .help = "description"}},
      {"QUEUE", {.function = "engine::queue::list_topics", .list = "", .word = "name", .help = "kind"}},
  };
  for (const auto& [value, list] : kOfBus) {
    if (found.value != value) continue;
    for (const cli::Completions::Word& each : co_await words_of_bus(list)) add(each.word, each.help);
  }
  for (const cli::Completions::Word& each : all)
    output_.line(each.help.empty() ? each.word : each.word + "\t" + tui::one_line(each.help));
  co_return 0;
}

}  // namespace chela::app
