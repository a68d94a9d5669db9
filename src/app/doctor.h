#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "app/paths.h"
#include "cli/report.h"
#include "config/config.h"
#include "net/http_client.h"
#include "os/poller.h"
#include "runtime/asio_loop.h"
#include "runtime/task.h"

namespace chela::app {

// What a doctor looks at, and with what. All of it outlives him.
struct Patient {
  runtime::AsioLoop& loop;
  os::Poller& poller;
  const Paths& paths;
  const std::map<std::string, std::string>& environment;
  const Result<config::Config>& config;  // or why it cannot be had
  std::string config_path;
};

// Examines everything an engine of this home needs, one thing after the other; each has an end (kProbeTimeout for what asks others).
Task<std::vector<cli::Check>> examine(Patient patient, std::stop_token stop);

// Whether an engine has this home, and whether it answers.
struct EngineState {
  enum class Kind { kNone, kAlive, kSilent, kStale } kind = Kind::kNone;
  std::string text = {};  // of engine.json
};
Task<EngineState> engine_state(runtime::AsioLoop& loop, net::HttpClient& http, Paths paths,
                               std::stop_token stop);

}  // namespace chela::app
