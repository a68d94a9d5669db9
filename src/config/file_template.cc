#include "config/file_template.h"

#include "base/json.h"
#include "config/json_value.h"

namespace chela::config {
namespace {

std::string toml_value(const Key& key) {
  const json::Value value = json_of(key, key.fallback);
  // Texts, lists, numbers, true and false look alike in JSON and TOML; TOML has no null.
  return value.is_null() ? "\"\"" : json::write(value);
}

}  // namespace

std::string file_template() {
  std::string out =
      "# What is not set here comes from the settings that the engine keeps, else is the default shown.\n";
  std::string_view section;
  for (const Key& key : keys()) {
    const size_t dot = key.name.find('.');
    const std::string_view group = key.name.substr(0, dot);
    if (group != section) out += fmt::format("\n[{}]\n", group);
    section = group;
    out += fmt::format("# {}\n", key.help);
    if (!key.choices.empty()) out += fmt::format("# one of: {}\n", fmt::join(key.choices, ", "));
    if (key.type == Type::kSecret) {
      out += fmt::format("# a secret: set {} in the environment\n", env_name(key));
    } else {
      out += fmt::format("# {} = {}\n", key.name.substr(dot + 1), toml_value(key));
    }
  }
  return out;
}

}  // namespace chela::config
