#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "agent/traces/player.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "os/poller.h"
#include "runtime/asio_loop.h"

namespace chela::app {

// One run of `chela replay-trace`: each trace on an engine of its own, in a home that is made for it and removed afterwards. Nothing of the
// caller's home, settings or environment counts. Lives in main().
class TraceProgram {
 public:
  TraceProgram(cli::ReplayTraceCommand command, const cli::Output& output)
      : command_(std::move(command)), output_(output) {}

  // Gives the exit code: 0 when everything held, 1 when something did not, 2 when a file is no trace.
  int run();

 private:
  enum class Verdict { kHeld, kFailed, kBroken };
  Result<std::vector<std::string>> files() const;
  Task<int> replay_all();
  Task<Verdict> replay(std::string file);
  Task<Result<agent::traces::Report>> play(const agent::traces::Trace& trace, const std::string& home);
  Result<> rewrite(const std::string& file, const std::string& text, const agent::traces::Trace& trace,
                   const agent::traces::Report& report);
  void show(const std::string& file, const agent::traces::Trace& trace, const agent::traces::Report& report);
  Verdict broken(const std::string& file, const Error& error);

  const cli::ReplayTraceCommand command_;
  const cli::Output& output_;
  runtime::AsioLoop loop_;
  std::unique_ptr<os::Poller> poller_;
  std::string share_;
  std::stop_source leaving_;
  json::Value reports_ = json::Value::array();
  std::int64_t held_ = 0;
  std::int64_t failed_ = 0;
};

}  // namespace chela::app
