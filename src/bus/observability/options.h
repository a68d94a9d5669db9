#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bus/observability/sampling.h"
#include "obs/log_terminal.h"

namespace chela::bus::observability {

// What is to happen when a measure crosses a threshold.
struct AlertRule {
  enum class Action { kLog, kWebhook, kFunction };
  std::string name;
  std::string metric;
  double threshold = 0;
  std::string comparison;  // ">", ">=", "<", "<=", "==", "!="
  std::chrono::seconds window{60};
  std::chrono::seconds cooldown{60};
  bool enabled = true;
  Action action = Action::kLog;
  std::string target;  // a URL, or the id of a function
};

struct Options {
  std::string service_name = "iii";
  std::string service_version = {};    // "" = not told
  std::string service_namespace = {};  // the same
  size_t max_spans = 1000;
  size_t max_logs = 1000;
  std::chrono::seconds logs_retention{3600};
  size_t max_points = 10'000;
  std::chrono::seconds points_retention{3600};
  SamplingConfig sampling = {};    // of traces that begin here
  double logs_sampling_ratio = 1;  // of logs that are kept and told
  bool traces = true;
  bool logs = true;
  bool metrics = true;
  bool console = true;                   // logs of workers go to the engine's log as well
  bool live_spans = true;                // calls under way are listed too
  std::optional<log::Level> level = {};  // of the log on the terminal, and its form; nothing: as it is
  std::optional<log::TerminalForm> format = {};
  std::vector<std::string> without_effect = {};  // keys that were given and say nothing here, with the reason
  std::vector<AlertRule> alerts;
};

// iii's configuration. What this engine cannot do, exporters to other programs above all, is refused with what to say instead.
Result<Options> read_options(const json::Value& config);

}  // namespace chela::bus::observability
