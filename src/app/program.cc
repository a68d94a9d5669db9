#include "app/program.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "api/operations.h"
#include "app/configuration.h"
#include "cli/chat.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/local_client.h"
#include "cli/remote_client.h"
#include "llm/local/pull.h"
#include "net/curl_client.h"
#include "obs/log.h"
#include "os/environment.h"
#include "os/file.h"
#include "runtime/sleep.h"
#include "runtime/task_group.h"

namespace chela::app {
namespace {

// How long a command waits for an engine that is just starting or stopping.
constexpr auto kHomeWait = std::chrono::seconds(10);
constexpr auto kHomePoll = std::chrono::milliseconds(50);
// After this the process ends whatever still hangs; children die with it.
constexpr auto kStopLimit = std::chrono::seconds(10);
constexpr std::string_view kLocalModel = "local/small";
constexpr size_t kMaxCatalogBytes = 4 * 1024 * 1024;

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

}  // namespace

int Program::run() {
  if (const Result<> prepared = prepare(); !prepared) return cli::report_error(prepared.error(), output_);
  if (const auto* config = std::get_if<cli::ConfigCommand>(&line_.command)) return show_config(config->key);
  // Signals first: every thread that starts from here on leaves them to the watch.
  const std::vector<int> signals{SIGINT, SIGTERM};
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
  Result<config::Config> config = load_configuration(paths_, line_.settings, environment_);
  if (!config) return fail(config.error());
  config_ = std::move(*config);
  hide_secrets(*config_);
  if (std::holds_alternative<cli::ConfigCommand>(line_.command)) return {};
  if (Result<> made = make_folders(paths_); !made) return made;
  return start_log();
}

Result<> Program::start_log() const {
  const config::LogSettings& settings = config_->settings().log;
  std::filesystem::path file = settings.file;
  if (!file.empty() && file.is_relative()) file = std::filesystem::path(paths_.home) / file;
  const auto* run = std::get_if<cli::RunCommand>(&line_.command);
  log::Options options{.file = file.string(), .file_level = settings.level};
  if (is_terminal(STDERR_FILENO))
    options.terminal_level = run && run->headless ? log::Level::kInfo : log::Level::kWarn;
  return log::start(options);
}

void Program::on_signal(int number) {
  if (number == SIGINT && on_interrupt_) {
    on_interrupt_();
  } else if (leaving_.stop_requested()) {
    ::_exit(exit_code(Code::kCancelled));  // asked twice: now
  } else {
    leaving_.request_stop();
    if (on_leave_) on_leave_();
  }
}

int Program::show_config(const std::string& key) const {
  const Result<std::string> text = cli::config_text(*config_, key);
  if (!text) return cli::report_error(text.error(), output_);
  output_.out(*text);
  return 0;
}

Task<int> Program::dispatch() {
  if (const auto* command = std::get_if<cli::OperationCommand>(&line_.command)) {
    const auto use = [this, command](cli::Client& client, const op::Registry& registry) {
      return cli::run_operation(client, registry, *command, output_, leaving_.get_token());
    };
    co_return co_await with_client(use, Assembly::Storage::kFile);
  }
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

Result<std::unique_ptr<Assembly>> Program::assemble(os::FileLock lock, Assembly::Storage storage,
                                                    Assembly::Front front) {
  Result<std::string> share = share_folder(environment_);
  if (!share) return fail(share.error());
  return Assembly::create(loop_, *poller_, std::move(lock),
                          {.paths = paths_,
                           .settings = config_->settings(),
                           .share = std::move(*share),
                           .storage = storage,
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
                               Assembly::Storage storage) {
  Result<Home> home = co_await take_home();
  if (!home) co_return cli::report_error(home.error(), output_);
  if (home->running) co_return co_await use_running(*home->running, std::move(use));
  Result<std::unique_ptr<Assembly>> engine =
      assemble(std::move(*home->lock), storage, Assembly::Front::kNone);
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

// --- chela run

Task<int> Program::chat(cli::Client& client, cli::RunCommand command) {
  using Input = cli::ChatOptions::Input;
  using Format = cli::ChatOptions::Format;
  cli::DescriptorLines lines(*poller_, STDIN_FILENO);
  cli::Chat chat(loop_, client, lines, output_,
                 {.message = command.message,
                  .thread = command.thread,
                  .agent = command.agent,
                  .format = command.json ? Format::kJson : Format::kText,
                  .input = is_terminal(STDIN_FILENO) ? Input::kTerminal : Input::kPipe});
  on_interrupt_ = [&chat] { chat.interrupt(); };
  on_leave_ = [&chat] { chat.leave(); };
  const int code = co_await chat.run();
  on_interrupt_ = nullptr;
  on_leave_ = nullptr;
  co_return code;
}

Task<int> Program::run_engine(cli::RunCommand command) {
  if (!command.no_onboard) co_await fetch_missing_models();
  const Assembly::Storage storage = command.no_db ? Assembly::Storage::kMemory : Assembly::Storage::kFile;
  const auto use = [this, command](cli::Client& client, const op::Registry&) {
    return chat(client, command);
  };
  if (command.message) co_return co_await with_client(use, storage);
  Result<Home> home = command.headless ? try_home() : co_await take_home();
  if (!home) co_return cli::report_error(home.error(), output_);
  if (home->running && command.headless) {
    co_return cli::report_error(
        Error{.code = Code::kConflict,
              .message = fmt::format(
                  "an engine runs already with the home {}: {}; stop it first, or choose another --home",
                  paths_.home, home->running->text())},
        output_);
  }
  if (home->running) {
    output_.note(fmt::format("Using the engine that runs already ({}).", home->running->text()));
    co_return co_await use_running(*home->running, use);
  }
  const bool tcp = config_->settings().gateway.enabled && !command.cli_only;
  Result<std::unique_ptr<Assembly>> engine = assemble(
      std::move(*home->lock), storage, tcp ? Assembly::Front::kSocketAndTcp : Assembly::Front::kSocket);
  if (!engine) co_return cli::report_error(engine.error(), output_);
  co_return co_await serve(std::move(command), std::move(*engine));
}

namespace {

// Ends when the stop is requested.
Task<> until_stopped(runtime::EventLoop& loop, std::stop_token stop) {
  const runtime::Completion<bool> stopped(loop);
  const std::stop_callback on_stop(stop, [stopped] { stopped.resolve(true); });
  co_await stopped;
}

// Where the gateway is. A terminal gets the link that logs in; anything else might keep it.
std::string welcome(const Assembly& engine) {
  std::string text = fmt::format("Chela {}, model {}", CHELA_VERSION, engine.default_model());
  const std::string address = engine.address();
  if (address.empty()) return text;
  text += ", " + address + "/";
  return is_terminal(STDERR_FILENO) ? text + "?token=" + engine.gateway_token() : text;
}

}  // namespace

// The engine with its listeners, until it is told to stop or its chat ends.
Task<int> Program::serve(cli::RunCommand command, std::unique_ptr<Assembly> engine) {
  int code = 0;
  if (const Result<> started = co_await engine->start(); !started) {
    code = cli::report_error(started.error(), output_);
  } else {
    output_.note(welcome(*engine));
    if (command.headless) {
      co_await until_stopped(loop_, leaving_.get_token());
    } else {
      if (is_terminal(STDIN_FILENO)) output_.note("Type a message; /help lists commands, /quit leaves.");
      cli::LocalClient client(loop_, engine->operations(), engine->owner());
      code = co_await chat(client, command);
      co_await client.close();
    }
  }
  const runtime::TimerId limit = loop_.call_at(loop_.clock().steady() + kStopLimit, [] {
    log::error("app", "something does not stop; ending without it");
    log::stop();
    ::_exit(exit_code(Code::kTimeout));
  });
  co_await engine->stop();
  loop_.cancel(limit);
  co_return code;
}

// --- Models of this machine

Task<int> Program::pull(std::string model) {
  if (model != kLocalModel) {
    co_return cli::report_error(
        Error{.code = Code::kNotFound,
              .message = fmt::format("only {} can be pulled, not '{}'", kLocalModel, model)},
        output_);
  }
  const Result<std::string> share = share_folder(environment_);
  if (!share) co_return cli::report_error(share.error(), output_);
  const llm::local::PullOptions options{.script = *share + "/models/pull_local_small.py",
                                        .models_dir = paths_.models};
  const Result<> pulled = co_await llm::local::pull(
      *poller_, options, [this](std::string_view line) { output_.note(line); }, leaving_.get_token());
  co_return pulled ? 0 : cli::report_error(pulled.error(), output_);
}

// The first start of somebody who has configured nothing. What fails here the first message says again.
Task<> Program::fetch_missing_models() {
  if (config_->settings().llm.backend != config::LlmBackend::kLocal) co_return;
  const Result<std::string> share = share_folder(environment_);
  if (!share) co_return;
  const Result<std::string> text = os::read_file(*share + "/models/catalog.json", kMaxCatalogBytes);
  if (!text) co_return;
  const Result<llm::Catalog> catalog = llm::Catalog::parse(*text);
  if (!catalog) co_return;
  bool missing = false;
  for (const std::string& file : catalog->find(kLocalModel).files)
    missing |= !std::filesystem::exists(std::filesystem::path(paths_.models) / file);
  if (!missing) co_return;
  output_.note("No model is configured: fetching the small local one (about 180 MB, once).");
  if (const int code = co_await pull(std::string(kLocalModel)); code != 0)
    log::warn("app", "the local model is not complete", {{"exit", code}});
}

}  // namespace chela::app
