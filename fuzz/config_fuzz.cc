// LINK config
// Any file, variable, flag or stored setting gives a configuration within its limits or an error that says where; a secret is in
// neither.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "config/agent_file.h"
#include "config/config.h"

namespace {

using namespace chela;

// The secret that the environment holds. It follows from the input, so that no input can hold it itself: the fuzzer learns constants
// from comparisons and writes them into its inputs, and what a file says in the wrong place an error may quote.
std::string secret_for(std::string_view input) {
  return "Zq7-" + std::to_string(std::hash<std::string_view>{}(input));
}

void check_hidden(std::string_view text, std::string_view secret) {
  CHELA_CHECK(text.find(secret) == std::string_view::npos, "a secret is shown");
}

void check(const config::Sources& sources) {
  const std::string& secret = sources.environment.at("LLM_API_KEY");
  const Result<config::Config> loaded = config::Config::load(sources);
  if (!loaded) {
    CHELA_CHECK(!loaded.error().message.empty(), "an error says nothing");
    check_hidden(loaded.error().message, secret);
    return;
  }
  const config::Settings& settings = loaded->settings();
  CHELA_CHECK(settings.agent.max_tool_iterations >= 1 && settings.limits.body_bytes >= 1,
              "a setting is out of its range");
  for (const config::Explained& each : loaded->explain_all()) check_hidden(each.value, secret);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  config::Sources sources{
      .environment = {{"LLM_API_KEY", secret_for(text)}}, .file_path = "config.toml", .file_text = text};
  check(sources);
  (void)config::parse_agent_file(text, "agent.toml");
  // The same bytes as the value of every key, in every other layer.
  sources.file_text.clear();
  const auto keys = config::keys();
  const config::Key& key = keys[size == 0 ? 0 : data[0] % keys.size()];
  if (key.type == config::Type::kSecret) return 0;
  const std::string value = size == 0 ? text : text.substr(1);
  sources.settings = {{std::string(key.name), value}};
  check(sources);
  sources.environment[config::env_name(key)] = value;
  check(sources);
  sources.flags = {{std::string(key.name), value}};
  check(sources);
  return 0;
}
