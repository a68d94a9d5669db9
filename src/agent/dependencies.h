#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "base/scope.h"
#include "llm/models.h"
#include "llm/provider.h"
#include "runtime/event_loop.h"
#include "runtime/id_source.h"
#include "store/blob_store.h"
#include "store/settings_store.h"
#include "store/turn_log_store.h"
#include "tools/registry.h"
#include "tools/runner.h"

namespace chela::hooks {
class Chain;
}
namespace chela::obs {
class Metrics;
}
namespace chela::security {
class Vault;
}

namespace chela::agent {

// The agent that is there without any file.
inline constexpr std::string_view kDefaultAgent = "default";

// Who an agent is: from its agent.toml, or the built-in default.
struct AgentSpec {
  std::string name;
  std::string description;
  std::string system_prompt;  // added to the sections every agent has
  std::string model;          // "" = the configured default
  std::optional<std::int64_t> max_tokens;
  std::optional<double> temperature;
  std::vector<std::string> tools = {"*"};             // patterns of tool names
  std::optional<llm::ToolCalling> tool_calling = {};  // nothing: as its model can
};

// The model an agent's turn uses.
struct ModelChoice {
  llm::Provider* provider = nullptr;  // not owned
  std::string model;
  std::int64_t context_tokens = 0;  // 0 = unknown: no compaction
  bool sees_images = false;
  llm::PromptStyle prompt = llm::PromptStyle::kFull;
  llm::ToolCalling tools = llm::ToolCalling::kNative;
};

// What the agents know about their user: filled by memory/.
class Knowledge {
 public:
  virtual ~Knowledge() = default;
  // Identity documents for the system prompt, in their order: title and text. Changes only with its sources.
  virtual Task<std::vector<std::pair<std::string, std::string>>> identity(Scope scope) = 0;
  // At most `limit` short remembered lines that fit a message; none when nothing fits or the search fails.
  virtual Task<std::vector<std::string>> recall(Scope scope, std::string text, size_t limit) = 0;
};

// Where the files that come with messages are kept: the user's workspace, filled by app/.
class Uploads {
 public:
  virtual ~Uploads() = default;
  // On disk when it returns. `path` is relative to the workspace and cannot leave it, whatever links are there.
  virtual Task<Result<>> save(Scope scope, std::string path, std::string bytes) = 0;
};

enum class WhenBusy { kSteer, kQueue };

struct EngineSettings {
  int max_iterations = kMaxIterations;
  WhenBusy busy = WhenBusy::kSteer;
  size_t max_message_bytes = kMaxMessageBytes;
  size_t max_subscribers = kMaxEventSubscribers;
  size_t max_running_turns = kMaxRunningTurns;
  size_t max_loaded_threads = kMaxLoadedThreads;
  size_t max_known_outcomes = kMaxKnownOutcomes;
};

// All that the engine stands on. Everything referenced outlives it.
struct Dependencies {
  runtime::EventLoop& loop;
  runtime::IdSource& ids;
  store::TurnLogStore& log;
  store::BlobStore& blobs;
  store::SettingsStore& settings_store;
  const tools::Registry& tools;
  tools::Runner& tool_runner;
  hooks::Chain& hooks;
  obs::Metrics& metrics;
  Knowledge& knowledge;
  Uploads& uploads;
  security::Vault& vault;
  std::function<Result<ModelChoice>(const AgentSpec& agent)> choose_model;
  std::vector<AgentSpec> agents = {};  // beside the default
  EngineSettings settings = {};
  std::string version = {};  // of the program, for /version
  // Told of every thread that a turn has ended on, once that is on disk.
  std::function<void(const Scope& scope, const std::string& thread, const std::string& turn)> on_turn_end =
      {};
};

}  // namespace chela::agent
