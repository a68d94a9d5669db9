#include "bus/engine/engine_config.h"

#include <algorithm>

#include "base/strings.h"
#include "bus/config_reader.h"

namespace chela::bus {
namespace {

constexpr std::string_view kListener = "iii-worker-manager";
constexpr std::string_view kOldListener = "modules::worker::WorkerModule";
// Always there, without a configuration.
constexpr std::string_view kAlwaysThere[] = {"iii-engine-functions"};
// Product analytics that this engine does not have: nothing to load.
constexpr std::string_view kTelemetry[] = {"modules::telemetry::TelemetryModule", "iii-telemetry"};

// match("a::*") as configurations write it.
std::optional<std::string> pattern_of(std::string_view text) {
  text = strings::trim(text);
  if (!text.starts_with("match(") || !text.ends_with(')')) return std::nullopt;
  text = strings::trim(text.substr(6, text.size() - 7));
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') || text.back() != text.front())
    return std::nullopt;
  return std::string(text.substr(1, text.size() - 2));
}

ExposeRule read_rule(ConfigReader& rbac, const json::Value& entry) {
  ExposeRule rule;
  if (const std::string* text = entry.as_string()) {
    rule.id_pattern = pattern_of(*text).value_or("");
    if (rule.id_pattern.empty())
      rbac.refuse("expose_functions", fmt::format("'{}' is no match(\"pattern\")", *text));
    return rule;
  }
  const json::Value* metadata = entry.find("metadata");
  const json::Object* keys = metadata == nullptr ? nullptr : metadata->as_object();
  if (keys == nullptr || keys->empty() || entry.as_object()->size() != 1) {
    rbac.refuse("expose_functions",
                fmt::format("an entry is match(\"pattern\") or metadata with keys and values, not {}",
                            json::write(entry)));
    return rule;
  }
  for (const auto& [key, value] : *keys) {
    const std::string* text = value.as_string();
    rule.metadata.push_back(
        {.key = key, .value = value, .pattern = text == nullptr ? "" : pattern_of(*text).value_or("")});
  }
  return rule;
}

Result<RbacConfig> read_rbac(ConfigReader reader) {
  RbacConfig rbac{.auth_function_id = reader.text("auth_function_id"),
                  .expose = {},
                  .on_function_registration = reader.text("on_function_registration_function_id"),
                  .on_trigger_registration = reader.text("on_trigger_registration_function_id"),
                  .on_trigger_type_registration = reader.text("on_trigger_type_registration_function_id")};
  if (const json::Value* expose = reader.value("expose_functions")) {
    if (expose->as_array() == nullptr) reader.refuse("expose_functions", "must be a list");
    for (size_t i = 0; expose->as_array() != nullptr && i < expose->as_array()->size(); ++i)
      rbac.expose.push_back(read_rule(reader, (*expose->as_array())[i]));
  }
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return rbac;
}

Result<ListenerConfig> read_listener(std::string where, const json::Value& config, std::uint16_t port) {
  ConfigReader reader(std::move(where), config);
  ListenerConfig listener{.host = reader.text("host", "127.0.0.1"),
                          .port = static_cast<std::uint16_t>(reader.integer("port", port, 0, 65535)),
                          .handshake_timeout = std::chrono::milliseconds(
                              reader.integer("handshake_timeout_ms", kHandshakeTimeout.count(), 1, 600'000)),
                          .middleware_function_id = reader.text("middleware_function_id")};
  if (reader.value("rbac") != nullptr) {
    Result<RbacConfig> rbac = read_rbac(reader.section("rbac"));
    if (!rbac) return fail(rbac.error());
    listener.rbac = std::move(*rbac);
  }
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return listener;
}

class Reading {
 public:
  Reading(std::string_view path, const json::Value& document) : top_(std::string(path), document) {}

  Result<EngineConfig> read() {
    port_ = static_cast<std::uint16_t>(top_.integer("port", kBusPort, 0, 65535));
    for (const auto& [list, name] : {std::pair("modules", "class"), std::pair("workers", "name")}) {
      for (ConfigReader& entry : top_.sections(list)) {
        if (Result<> done = add(entry, list, name); !done) return fail(done.error());
      }
    }
    if (const Result<> good = top_.finish(); !good) return fail(good.error());
    if (config_.listeners.empty()) config_.listeners.push_back({.port = port_});
    return std::move(config_);
  }

 private:
  // Both dialects' keys are taken in both lists.
  Result<> add(ConfigReader& entry, std::string_view list, std::string_view key) {
    const std::string first = entry.text(key);
    const std::string other = entry.text(key == "class" ? "name" : "class");
    const std::string name = first.empty() ? other : first;
    if (name.empty()) entry.refuse(key, fmt::format("is missing: an entry of {} says which one it is", list));
    const json::Value* found = entry.value("config");
    const json::Value config = found == nullptr ? json::Value() : *found;
    if (Result<> good = entry.finish(); !good) return good;
    if (std::ranges::find(kTelemetry, name) != std::end(kTelemetry)) return {};
    const std::string where = fmt::format("{} ({})", entry.where(), name);
    if (std::ranges::find(kAlwaysThere, name) != std::end(kAlwaysThere))
      return ConfigReader(where, config).finish();
    if (name == kListener || name == kOldListener) {
      Result<ListenerConfig> listener = read_listener(where, config, port_);
      if (!listener) return fail(listener.error());
      return add(where, std::move(*listener));
    }
    if (config_.modules.size() >= kMaxConfiguredModules)
      return fail(Code::kTooLarge, "{}: there are more than {} modules", where, kMaxConfiguredModules);
    config_.modules.push_back({.name = name, .config = config});
    return {};
  }

  Result<> add(std::string_view where, ListenerConfig listener) {
    if (config_.listeners.size() >= kMaxListeners)
      return fail(Code::kTooLarge, "{}: there are more than {} listeners", where, kMaxListeners);
    for (const ListenerConfig& each : config_.listeners) {
      if (listener.port != 0 && each.port == listener.port && each.host == listener.host)
        return fail(Code::kInvalidArgument, "{}: another listener has {}:{} already", where, listener.host,
                    listener.port);
    }
    config_.listeners.push_back(std::move(listener));
    return {};
  }

  ConfigReader top_;
  std::uint16_t port_ = kBusPort;
  EngineConfig config_;
};

}  // namespace

Result<EngineConfig> read_engine_config(const json::Value& document, std::string_view path) {
  return Reading(path, document).read();
}

}  // namespace chela::bus
