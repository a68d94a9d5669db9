#pragma once

#include <set>
#include <string>
#include <vector>

#include "llm/provider.h"

namespace chela::agent::turn {

// Gives calls of an answer without an id, with one too long, or with one already used in the turn, an id of their own. `used` are the ids of
// the turn's earlier calls; those of these calls are added.
void name_calls(const std::string& turn, std::set<std::string>& used, std::vector<llm::ToolCall>& calls);

}  // namespace chela::agent::turn
