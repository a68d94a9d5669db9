#pragma once

#include <memory>

#include "llm/budget/budget.h"
#include "tools/tool.h"

namespace chela::llm::budget {

// budget_status: what is left of the limits that count the agent's own calls. The budget outlives the tool.
std::unique_ptr<tools::Tool> make_budget_tool(Budget& budget);

}  // namespace chela::llm::budget
