#include "app/agents.h"

#include <algorithm>
#include <cmath>

#include "config/agent_file.h"

namespace chela::app {
namespace {

constexpr std::string_view kBuiltInName = "Chela";

std::string prompt_of(const config::AgentFile& file) {
  std::string prompt = file.system_prompt;
  const auto add = [&prompt](std::string_view text) {
    if (!prompt.empty()) prompt += "\n\n";
    prompt += text;
  };
  if (!file.communication_style.empty()) add("Communication style: " + file.communication_style);
  if (!file.critical_rules.empty()) {
    std::string rules = "Rules you never break:";
    for (const std::string& each : file.critical_rules) rules += "\n- " + each;
    add(rules);
  }
  return prompt;
}

agent::AgentSpec default_agent(const config::Settings& settings) {
  agent::AgentSpec spec{.name = std::string(agent::kDefaultAgent)};
  spec.tool_calling = llm::tool_calling_from_name(settings.agent.tool_dispatcher);
  const std::string& name = settings.agent.name;
  if (!name.empty() && name != kBuiltInName && name != agent::kDefaultAgent) {
    spec.system_prompt = fmt::format("Your user calls you {}.", name);
  }
  return spec;
}

}  // namespace

Result<std::vector<agent::AgentSpec>> load_agent_specs(const std::string& folder,
                                                       const config::Settings& settings) {
  const Result<std::vector<config::AgentFile>> files = config::load_agents(folder);
  if (!files) return fail(files.error());
  std::vector<agent::AgentSpec> specs;
  for (const config::AgentFile& file : *files) {
    specs.push_back({.name = file.name,
                     .description = file.description,
                     .system_prompt = prompt_of(file),
                     .model = file.model,
                     .max_tokens = file.max_tokens,
                     .temperature = file.temperature,
                     .tools = file.tools,
                     .tool_calling = llm::tool_calling_from_name(file.tool_dispatcher.empty()
                                                                     ? settings.agent.tool_dispatcher
                                                                     : file.tool_dispatcher)});
  }
  const bool replaced = std::any_of(specs.begin(), specs.end(),
                                    [](const auto& spec) { return spec.name == agent::kDefaultAgent; });
  if (!replaced) specs.push_back(default_agent(settings));
  for (agent::AgentSpec& spec : specs) {
    if (!spec.max_tokens) spec.max_tokens = settings.llm.max_tokens;
    if (!spec.temperature) spec.temperature = settings.llm.temperature;
  }
  return specs;
}

Result<std::vector<config::BudgetRule>> load_agent_budgets(const std::string& folder) {
  const Result<std::vector<config::AgentFile>> files = config::load_agents(folder);
  if (!files) return fail(files.error());
  std::vector<config::BudgetRule> rules;
  for (const config::AgentFile& file : *files) {
    const auto add = [&](const std::optional<double>& dollars, config::BudgetWindow window) {
      if (!dollars) return;
      rules.push_back({.of = config::BudgetOf::kAgent,
                       .name = file.name,
                       .window = window,
                       .limit = std::llround(*dollars * 100 * static_cast<double>(config::kNanoPerCent)),
                       .key = fmt::format("agents/{}/agent.toml", file.name)});
    };
    add(file.daily_budget, config::BudgetWindow::kDay);
    add(file.monthly_budget, config::BudgetWindow::kMonth);
  }
  return rules;
}

}  // namespace chela::app
