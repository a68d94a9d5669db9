#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "os/child_process.h"
#include "runtime/event_loop.h"

namespace chela::app {

struct ProgramResult {
  os::ExitStatus status;
  std::string out;
  std::string err;
};

// Runs a program to its end with the base environment and `more` variables, at most for `limit`. kNotFound when there is no such program,
// kTimeout, kTooLarge past kMaxCommandOutput.
Task<Result<ProgramResult>> run_program(runtime::EventLoop& loop, os::Poller& poller,
                                        std::vector<std::string> argv,
                                        std::vector<std::pair<std::string, std::string>> more,
                                        std::chrono::milliseconds limit, std::stop_token stop);

}  // namespace chela::app
