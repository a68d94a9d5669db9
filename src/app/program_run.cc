// chela run: the engine with its listeners, the chat, and the local model that both may need.

#include <unistd.h>

#include <filesystem>

#include "app/catalog.h"
#include "app/conversation.h"
#include "app/program.h"
#include "cli/commands.h"
#include "cli/local_client.h"
#include "llm/local/pull.h"
#include "obs/log.h"
#include "runtime/completion.h"
#include "tui/terminal.h"

namespace chela::app {
namespace {

// After this the process ends whatever still hangs; children die with it.
constexpr auto kStopLimit = std::chrono::seconds(10);
constexpr std::string_view kLocalModel = "local/small";

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

}  // namespace

// Whether the conversation is painted on the terminal: then nothing else may write there.
bool Program::uses_screen() const {
  const auto* run = std::get_if<cli::RunCommand>(&line_.command);
  return run && !run->headless && can_paint(*run, environment_);
}

Task<int> Program::chat(cli::Client& client, cli::RunCommand command) {
  Conversation conversation(
      loop_, *poller_, client, output_,
      {.command = std::move(command), .history = paths_.history, .environment = environment_});
  on_interrupt_ = [&conversation] { conversation.interrupt(); };
  on_leave_ = [&conversation] { conversation.leave(); };
  on_screen_ = [&conversation](int number) { conversation.on_screen_signal(number); };
  const int code = co_await conversation.run();
  on_interrupt_ = nullptr;
  on_leave_ = nullptr;
  on_screen_ = nullptr;
  co_return code;
}

Task<int> Program::run_engine(cli::RunCommand command) {
  if (const Result<> offered = co_await offer_wizard(command); !offered)
    co_return cli::report_error(offered.error(), output_);
  const Fetch fetch = command.no_onboard ? Fetch::kNo : Fetch::kYes;
  const Foundation::Storage storage =
      command.no_db ? Foundation::Storage::kMemory : Foundation::Storage::kFile;
  const auto use = [this, command](cli::Client& client, const op::Registry&) {
    return chat(client, command);
  };
  if (command.message) co_return co_await with_client(use, storage, fetch);
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
  Result<std::unique_ptr<Foundation>> foundation = co_await found(storage);
  if (!foundation) co_return cli::report_error(foundation.error(), output_);
  if (fetch == Fetch::kYes) co_await fetch_missing_models((*foundation)->settings().llm);
  const bool tcp = (*foundation)->settings().gateway.enabled && !command.cli_only;
  Result<std::unique_ptr<Assembly>> engine =
      assemble(std::move(*home->lock), std::move(*foundation),
               tcp ? Assembly::Front::kSocketAndTcp : Assembly::Front::kSocket);
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
  // On a line of its own: a link that is broken by the edge of the terminal cannot be clicked.
  text += "\n" + address + "/";
  return is_terminal(STDERR_FILENO) ? text + "?token=" + engine.gateway_token() : text;
}

}  // namespace

// The engine with its listeners, until it is told to stop or its chat ends.
Task<int> Program::serve(cli::RunCommand command, std::unique_ptr<Assembly> engine) {
  int code = 0;
  if (const Result<> started = co_await engine->start(); !started) {
    code = cli::report_error(started.error(), output_);
    if (started.error().code == Code::kConflict)
      output_.note("Next step: chela doctor says which ports are taken, and which setting moves each.");
  } else {
    output_.note(welcome(*engine));
    if (command.headless) {
      on_hangup_ = [&engine] { engine->reload(); };
      co_await until_stopped(loop_, leaving_.get_token());
      on_hangup_ = nullptr;
    } else {
      if (is_terminal(STDIN_FILENO))
        output_.note("Type a message; /help lists commands, Ctrl-C ends a turn, Ctrl-D leaves.");
      cli::LocalClient client(loop_, engine->operations(), engine->owner());
      code = co_await chat(client, command);
      co_await client.close();
    }
  }
  const runtime::TimerId limit = loop_.call_at(loop_.clock().steady() + kStopLimit, [] {
    log::error("app", "something does not stop; ending without it");
    log::stop();
    tui::restore_terminal();
    ::_exit(exit_code(Code::kTimeout));
  });
  co_await engine->stop();
  loop_.cancel(limit);
  co_return code;
}

// --- Models of this machine

Task<Result<>> Program::fetch_local_model() {
  const Result<std::string> share = share_folder(environment_);
  if (!share) co_return fail(share.error());
  const llm::local::PullOptions options{.script = *share + "/models/pull_local_small.py",
                                        .models_dir = paths_.models};
  co_return co_await llm::local::pull(
      *poller_, options, [this](std::string_view line) { output_.note(line); }, leaving_.get_token());
}

Task<int> Program::pull(std::string model) {
  if (model != kLocalModel) {
    co_return cli::report_error(
        Error{.code = Code::kNotFound,
              .message = fmt::format("only {} can be pulled, not '{}'", kLocalModel, model)},
        output_);
  }
  const Result<> pulled = co_await fetch_local_model();
  co_return pulled ? 0 : cli::report_error(pulled.error(), output_);
}

// The first start of somebody who has configured nothing. What fails here the first message says again.
Task<> Program::fetch_missing_models(config::LlmSettings llm) {
  if (llm.backend != config::LlmBackend::kLocal) co_return;
  const Result<llm::ModelData> data = find_model_data(environment_, paths_.home);
  if (!data || !answers_here(*data, llm.model)) co_return;
  bool missing = false;
  for (const std::string& file : data->catalog.find(kLocalModel).files)
    missing |= !std::filesystem::exists(std::filesystem::path(paths_.models) / file);
  if (!missing) co_return;
  output_.note("No model is configured: fetching the small local one (about 180 MB, once).");
  if (const int code = co_await pull(std::string(kLocalModel)); code != 0)
    log::warn("app", "the local model is not complete", {{"exit", code}});
}

}  // namespace chela::app
