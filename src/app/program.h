#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "app/assembly.h"
#include "app/paths.h"
#include "cli/client.h"
#include "cli/command_line.h"
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
  Result<> start_log() const;
  Task<int> dispatch();
  Task<int> run_engine(cli::RunCommand command);
  Task<int> serve(cli::RunCommand command, std::unique_ptr<Assembly> engine);
  Task<int> with_client(std::function<Task<int>(cli::Client&, const op::Registry&)> use,
                        Assembly::Storage storage);
  Task<int> use_running(const EngineFile& running,
                        std::function<Task<int>(cli::Client&, const op::Registry&)> use);
  Task<int> chat(cli::Client& client, cli::RunCommand command);
  Task<int> pull(std::string model);
  Task<> fetch_missing_models();
  int show_config(const std::string& key) const;

  // What a home is to this process: its own (lock), or that of the engine that runs.
  struct Home {
    std::optional<os::FileLock> lock;
    std::optional<EngineFile> running;
  };
  Task<Result<Home>> take_home();
  Result<Home> try_home() const;
  Result<std::unique_ptr<Assembly>> assemble(os::FileLock lock, Assembly::Storage storage,
                                             Assembly::Front front);

  void on_signal(int number);

  cli::CommandLine line_;
  const cli::Output& output_;
  std::map<std::string, std::string> environment_;
  Paths paths_;
  std::optional<config::Config> config_;
  runtime::AsioLoop loop_;
  std::unique_ptr<os::Poller> poller_;
  std::stop_source leaving_;            // SIGTERM, and SIGINT where nobody takes it
  std::function<void()> on_interrupt_;  // a chat takes SIGINT
  std::function<void()> on_leave_;      // a chat is told to end
};

}  // namespace chela::app
