#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bus/session.h"

namespace chela::bus {

inline constexpr std::uint16_t kBusPort = 49134;
inline constexpr size_t kMaxConfiguredModules = 64;
inline constexpr size_t kMaxListeners = 16;
inline constexpr std::chrono::milliseconds kHandshakeTimeout = std::chrono::seconds(10);

// What connections of a listener may do, and who decides about each of them. Functions by their ids; "" = none.
struct RbacConfig {
  std::string auth_function_id;
  std::vector<ExposeRule> expose;
  std::string on_function_registration;
  std::string on_trigger_registration;
  std::string on_trigger_type_registration;
};

struct ListenerConfig {
  std::string host = "127.0.0.1";
  std::uint16_t port = kBusPort;  // 0 takes a free one
  std::chrono::milliseconds handshake_timeout = kHandshakeTimeout;
  std::string middleware_function_id = {};
  std::optional<RbacConfig> rbac = std::nullopt;  // nothing: everything is allowed
};

struct ModuleConfig {
  std::string name;
  json::Value config;  // null when there is none
};

// iii's configuration file: `modules: - class:` and `workers: - name:`, both at once too.
struct EngineConfig {
  std::vector<ListenerConfig> listeners;  // one at least
  std::vector<ModuleConfig> modules;      // in their order, without listeners and what is always there
};

// `path` names the file in messages. kInvalidArgument for what is wrong or unknown.
Result<EngineConfig> read_engine_config(const json::Value& document, std::string_view path);

}  // namespace chela::bus
