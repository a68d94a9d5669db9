#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "app/assembly.h"
#include "app/paths.h"
#include "cli/bus_client.h"
#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/completion.h"
#include "cli/output.h"
#include "config/config.h"
#include "os/file_lock.h"
#include "os/poller.h"
#include "os/signals.h"
#include "runtime/asio_loop.h"

namespace chela::app {

// One run of the program: decides between being the engine, using the one that runs, and doing without. Lives in main().
class Program {
 public:
  Program(cli::CommandLine line, const cli::Output& output) : line_(std::move(line)), output_(output) {}

  // Gives the exit code.
  int run();

 private:
  Result<> prepare();
  void apply_to_run();
  Result<> start_log() const;
  Task<int> dispatch();
  Task<int> run_engine(cli::RunCommand command);
  Task<int> serve(cli::RunCommand command, std::unique_ptr<Assembly> engine);
  enum class Fetch { kNo, kYes };  // a local model that is needed and missing
  Task<int> with_client(std::function<Task<int>(cli::Client&, const op::Registry&)> use,
                        Foundation::Storage storage, Fetch fetch);
  Task<int> with_settings(cli::OperationCommand command);
  Task<int> use_running(const EngineFile& running,
                        std::function<Task<int>(cli::Client&, const op::Registry&)> use);
  Task<int> chat(cli::Client& client, cli::RunCommand command);
  Task<int> doctor(cli::DoctorCommand command);
  Task<int> show_status(cli::StatusCommand command);
  std::string web_page(const EngineFile& engine) const;
  Task<int> onboard(cli::OnboardCommand command);
  Task<Result<>> offer_wizard(cli::RunCommand command);
  Task<int> service(cli::ServiceCommand command);
  Task<int> with_vault(cli::OperationCommand command);
  Task<int> keep_secret(cli::SecretCommand command);
  bool uses_screen() const;
  Task<int> inspect_route(cli::RouteCommand command);
  Task<int> route_lines(cli::Client& client);
  Task<int> call_function(cli::BusCommand command);
  // A list that a function of the bus gives: the member that it is ("" = the value itself), and those of its rows.
  struct BusList {
    std::string_view function;
    std::string_view list;
    std::string_view word;
    std::string_view help;
  };
  Task<std::vector<cli::Completions::Word>> words_of_bus(BusList of);
  Result<cli::BusAddress> bus_address(const cli::BusCommand& command) const;
  Task<int> complete(std::vector<std::string> words);
  bool completing() const { return std::holds_alternative<cli::CompleteCommand>(line_.command); }
  Task<Result<>> fetch_local_model();
  Task<int> pull(std::string model);
  Task<> fetch_missing_models(config::LlmSettings llm);
  int config_file(const cli::ConfigFileCommand& command) const;

  // What a home is to this process: its own (lock), or that of the engine that runs.
  struct Home {
    std::optional<os::FileLock> lock;
    std::optional<EngineFile> running;
  };
  Task<Result<Home>> take_home();
  Result<Home> try_home() const;
  Task<Result<std::unique_ptr<Foundation>>> found(Foundation::Storage storage);
  Result<std::unique_ptr<Assembly>> assemble(os::FileLock lock, std::unique_ptr<Foundation> foundation,
                                             Assembly::Front front);

  void on_signal(int number);

  cli::CommandLine line_;
  const cli::Output& output_;
  std::map<std::string, std::string> environment_;
  Paths paths_;
  config::Sources sources_;  // all layers but the settings table
  std::optional<config::Config>
      config_;  // of these; always there, but for commands that do with a broken one
  std::optional<Error> load_error_;
  runtime::AsioLoop loop_;
  std::unique_ptr<os::Poller> poller_;
  std::stop_source leaving_;            // SIGTERM, and SIGINT where nobody takes it
  std::function<void()> on_interrupt_;  // a chat takes SIGINT
  std::function<void()> on_leave_;      // a chat is told to end
  std::function<void(int)> on_screen_;  // a chat on the terminal is told of SIGWINCH and SIGCONT
  std::function<void()> on_hangup_;     // an engine without a chat takes SIGHUP
};

}  // namespace chela::app
