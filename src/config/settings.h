#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/budget_rule.h"
#include "obs/log.h"

// The settings as the parts of the engine take them, by value. Defaults, ranges and names are those of keys.cc.
namespace chela::config {

struct GatewaySettings {
  bool enabled = true;
  std::string host;
  std::uint16_t port = 0;
  std::string auth_token;  // "" : the token file's
  std::string user_id;
};

struct BusSettings {
  bool enabled = true;
  std::string host;
  std::uint16_t port = 0;
  std::uint16_t http_port = 0;  // of HTTP triggers
  std::uint16_t stream_port = 0;
  std::chrono::milliseconds call_timeout{};
};

struct CliSettings {
  bool enabled = true;  // `chela run` talks on its terminal or standard input
};

// kProvider is any other provider, by its name.
enum class LlmBackend { kOpenAi, kOpenAiCompatible, kOllama, kLocal, kProvider };

// Whose name the model has: the backend's own, or one of the catalog's, which may belong to another provider.
enum class ModelNaming { kBackend, kCatalog };

inline constexpr size_t kMaxFallbacks = 16;  // models of llm.fallback

struct LlmSettings {
  LlmBackend backend = LlmBackend::kLocal;
  std::string provider;                       // of kProvider: an id or alias of the providers' file
  std::string base_url_key = "llm.base_url";  // the setting that base_url comes from
  std::string base_url;  // with the scheme, without a slash at the end; "" for local and for kProvider's own
  std::string unix_socket;  // connect here instead of to the URL's host; "" = no
  std::string api_key;      // "" = none is sent
  std::string model;        // "" with kProvider: its own default
  ModelNaming model_naming = ModelNaming::kBackend;
  std::vector<std::pair<std::string, std::string>> extra_headers;
  int max_retries = 0;
  int breaker_threshold = 0;  // 0 = a provider that fails is asked all the same
  std::chrono::milliseconds breaker_recovery{};
  std::vector<std::string> fallback;  // models that are asked when another does not answer
  int failover_threshold = 0;
  std::chrono::milliseconds failover_cooldown{};
  std::chrono::milliseconds stall_timeout{};
  std::optional<std::int64_t> max_tokens;
  std::optional<double> temperature;
  std::string cheap_model;  // "" = the default model is asked for everything
  bool cascade = true;
  std::string routing;  // "score" or "keywords"
  bool cache = false;
  std::chrono::milliseconds cache_ttl{};
  std::int64_t cache_entries = 0;  // of a user
};

enum class WhenBusy { kSteer, kQueue };

struct AgentSettings {
  std::string name;
  int max_tool_iterations = 0;
  bool auto_approve_tools = false;
  WhenBusy busy = WhenBusy::kSteer;
  std::int64_t context_tokens = 0;  // the model's window; compaction keeps below it
  std::string tool_dispatcher;      // auto, native or prompted
};

struct LimitSettings {
  size_t message_bytes = 0;
  size_t body_bytes = 0;
  size_t v1_body_bytes = 0;
  size_t header_bytes = 0;
  std::chrono::milliseconds header_timeout{};
  size_t connections = 0;
  int failed_logins = 0;         // of one address, then it waits; 0 = never
  size_t event_subscribers = 0;  // per user
};

struct LogSettings {
  log::Level level = log::Level::kInfo;
  std::string file;  // absolute, or relative to the home
};

struct ToolSettings {
  std::chrono::milliseconds timeout{};
};

struct SecretSettings {
  std::string master_key;  // "" : the vault's key file
};

// What calls of models may cost.
struct BudgetSettings {
  std::vector<BudgetRule> rules;
  int warn_percent = 0;                                                 // of a limit
  std::string timezone;                                                 // whose days and months count
  enum class Unpriced { kAllow, kRefuse } unpriced = Unpriced::kAllow;  // models whose price nobody knows

  bool operator==(const BudgetSettings&) const = default;
};

struct InferSettings {
  std::chrono::milliseconds idle{};
  int threads = 0;  // 0 = one per core
};

struct TraceSettings {
  bool record = false;
  std::string output;      // one file for all threads; "" = a file each in the home
  std::string model_name;  // "" = recorded-<model>
};

struct Settings {
  GatewaySettings gateway;
  BusSettings bus;
  CliSettings cli;
  LlmSettings llm;
  AgentSettings agent;
  LimitSettings limits;
  LogSettings log;
  ToolSettings tools;
  SecretSettings secrets;
  InferSettings infer;
  TraceSettings traces;
  BudgetSettings budget;
};

}  // namespace chela::config
