#include "cli/config_text.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace chela::cli {
namespace {

std::string line_of(const config::Explained& each) {
  return fmt::format("{} = {}  ({})\n", each.key->name, each.value.empty() ? "(not set)" : each.value,
                     each.origin);
}

std::string explain(const config::Explained& each) {
  const config::Key& key = *each.key;
  std::string out = line_of(each);
  out += fmt::format("{}\n", key.help);
  out += fmt::format("expects: {}\n", config::type_text(key.type));
  if (!key.choices.empty()) out += fmt::format("one of: {}\n", fmt::join(key.choices, ", "));
  out += fmt::format("default: {}\n", key.fallback.empty() ? "(not set)" : key.fallback);
  out += fmt::format("environment: {}", config::env_name(key));
  for (const std::string_view name : key.foreign) out += fmt::format(", {}", name);
  return out + "\n";
}

}  // namespace

Result<std::string> config_text(const config::Config& config, const std::string& key) {
  std::string out;
  if (key.empty()) {
    for (const config::Explained& each : config.explain_all()) out += line_of(each);
    return out;
  }
  const Result<config::Explained> found = config.explain(key);
  if (!found) return fail(found.error());
  return explain(*found);
}

}  // namespace chela::cli
