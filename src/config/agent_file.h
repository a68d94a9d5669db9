#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace chela::config {

// What an agent.toml says: [agent] name, description, system_prompt; [agent.model] model, max_tokens, temperature, tool_dispatcher;
// [agent.capabilities] tools; [agent.resources] system_prompt, daily_budget, monthly_budget (US dollars); [persona] with communication_style and critical_rules. Other keys, which
// foreign files have, are ignored.
struct AgentFile {
  std::string name;
  std::string description;
  std::string system_prompt;
  std::string model;  // "" = the default
  std::optional<std::int64_t> max_tokens;
  std::optional<double> temperature;
  std::string tool_dispatcher;  // auto, native or prompted; "" = as it is configured
  std::vector<std::string> tools = {"*"};
  std::optional<double> daily_budget;
  std::optional<double> monthly_budget;
  std::string communication_style;
  std::vector<std::string> critical_rules;
};

// Errors are kInvalidArgument and name the file, line and key.
Result<AgentFile> parse_agent_file(std::string_view text, std::string_view path);

// All agents of a folder: <folder>/<name>/agent.toml, sorted by name. A missing folder is no agents. A file whose name differs from its
// folder's is an error.
Result<std::vector<AgentFile>> load_agents(const std::string& folder);

}  // namespace chela::config
