#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "app/bus_host.h"
#include "bus/engine/engine_config.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "os/poller.h"
#include "runtime/asio_loop.h"

namespace chela::app {

// One run of `chela engine`: the bus alone, as iii's configuration file says. Has no home, no agents and no store but its modules'.
// When the file changes, or at a SIGHUP, it is read again and the bus begins anew with what it says; a file with a mistake changes
// nothing. Lives in main().
class BusProgram {
 public:
  BusProgram(cli::EngineCommand command, const cli::Output& output)
      : command_(std::move(command)), output_(output) {}

  // Gives the exit code.
  int run();

 private:
  // What is fixed while the program runs, and one bus as a configuration has it.
  struct Parts;
  struct Running;
  enum class Wake { kLeave, kReload };
  // What the file says, and the text that was read: with its variables in place.
  struct Read {
    bus::EngineConfig config;
    std::string text;
  };

  Result<Read> read_config() const;
  Task<int> serve(Read read);
  Result<std::unique_ptr<Running>> make(Parts& parts, const bus::EngineConfig& config);
  Task<Result<>> start(BusHost& host);
  Task<> stop(BusHost& host);
  Task<Wake> wait();
  Task<Result<std::unique_ptr<Running>>> reload(Parts& parts, std::unique_ptr<Running> running,
                                                Read& current);
  std::filesystem::path file() const;
  bool file_changed();

  const cli::EngineCommand command_;
  const cli::Output& output_;
  std::map<std::string, std::string> environment_;
  runtime::AsioLoop loop_;
  std::unique_ptr<os::Poller> poller_;
  std::stop_source leaving_;
  std::stop_source woken_;  // by a signal
  bool reload_asked_ = false;
  std::filesystem::file_time_type seen_{};  // when the file that was read last was written
};

}  // namespace chela::app
