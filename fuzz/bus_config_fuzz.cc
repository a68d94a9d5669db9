// LINK base config bus_engine
// Any text of a bus's configuration gives listeners and modules within their limits, or an error that names the file.

#include <cstdint>
#include <string>

#include "base/check.h"
#include "bus/engine/engine_config.h"
#include "bus/engine/expand.h"
#include "config/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace chela;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto variable = [](std::string_view name) -> std::optional<std::string> {
    if (name == "A") return "a: &x [1, *x]";
    if (name == "B") return "";
    return std::nullopt;
  };
  const Result<std::string> expanded = bus::expand(text, "c.yaml", variable);
  const Result<json::Value> document =
      expanded ? config::parse_yaml(*expanded, "c.yaml") : Result<json::Value>(fail(expanded.error()));
  const Result<bus::EngineConfig> config = document ? bus::read_engine_config(*document, "c.yaml")
                                                    : Result<bus::EngineConfig>(fail(document.error()));
  if (!config) {
    CHELA_CHECK(config.error().message.find("c.yaml") != std::string::npos,
                "an error does not name the file");
    return 0;
  }
  CHELA_CHECK(!config->listeners.empty() && config->listeners.size() <= bus::kMaxListeners,
              "too few or too many listeners");
  CHELA_CHECK(config->modules.size() <= bus::kMaxConfiguredModules, "too many modules");
  for (const bus::ModuleConfig& each : config->modules)
    CHELA_CHECK(!each.name.empty(), "a module without a name");
  return 0;
}
