#include "bus/adapter_config.h"

#include <algorithm>

namespace chela::bus {

Result<json::Value> adapter_config(ConfigReader& module, const AdapterNames& names) {
  ConfigReader adapter = module.section("adapter");
  std::string name = adapter.text("name");
  const std::string klass = adapter.text("class");
  const json::Value* config = adapter.value("config");
  if (const Result<> good = adapter.finish(); !good) return fail(good.error());
  if (name.empty()) name = klass;
  if (!name.empty() && std::ranges::find(names.own, name) == names.own.end()) {
    std::string known;
    for (const std::string_view each : names.own) known += (known.empty() ? "" : " or ") + std::string(each);
    const bool foreign = std::ranges::find(names.foreign, name) != names.foreign.end();
    return fail(Code::kInvalidArgument, "{}: the adapter '{}' {}; use {}, which needs no server",
                module.where(), name, foreign ? "is not supported" : "does not exist", known);
  }
  return config == nullptr ? json::Value::object() : *config;
}

}  // namespace chela::bus
