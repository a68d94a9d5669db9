#pragma once

#include <string>
#include <vector>

#include "agent/dependencies.h"
#include "base/result.h"
#include "config/settings.h"

namespace chela::app {

// The agents of the folder's files, and the built-in default with what the settings say of it unless a file replaces it. What a file
// leaves open comes from the settings.
Result<std::vector<agent::AgentSpec>> load_agent_specs(const std::string& folder,
                                                       const config::Settings& settings);

// The limits that agents' files set for them. They count from the start of the engine on.
Result<std::vector<config::BudgetRule>> load_agent_budgets(const std::string& folder);

}  // namespace chela::app
