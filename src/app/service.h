#pragma once

#include <chrono>
#include <map>
#include <stop_token>
#include <string>

#include "app/paths.h"
#include "base/limits.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "os/poller.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::app {

// The unit of an engine that systemd keeps running.
struct ServiceUnit {
  enum class Manager { kUser, kSystem };
  Manager manager = Manager::kUser;
  std::string program;    // absolute
  std::string home;       // absolute
  std::string user = {};  // of a system unit
};

std::string unit_text(const ServiceUnit& unit);
// A word of ExecStart that stays one word with these very characters.
std::string unit_word(std::string_view text);

// What `chela service ...` works with.
struct ServiceParts {
  runtime::EventLoop& loop;
  os::Poller& poller;
  const Paths& paths;
  const std::map<std::string, std::string>& environment;
  const cli::Output& output;
  std::chrono::milliseconds systemctl_wait = kSystemctlTimeout;  // of each call
};

// Gives the exit code. Every refusal of systemd is shown with what to do.
Task<int> run_service(ServiceParts parts, cli::ServiceCommand command, std::stop_token stop);

}  // namespace chela::app
