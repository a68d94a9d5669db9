#pragma once

#include <set>
#include <string>
#include <vector>

#include "llm/provider.h"

namespace chela::agent::turn {

// So much of the turn's id is in an id of ours, for some providers take no more than 40 bytes in all.
inline constexpr size_t kMaxTurnPartBytes = 20;

// Gives calls of an answer without an id, with one too long, or with one already used in the turn, an id of their own. `used` are the ids of
// the turn's earlier calls; those of these calls are added. Before the answer is logged.
void name_new_calls(const std::string& turn, std::set<std::string>& used, std::vector<llm::ToolCall>& calls);

// The same for answers of a log: those of older engines were logged without the names, and their results with the turn's whole id in them.
void name_calls(const std::string& turn, std::set<std::string>& used, std::vector<llm::ToolCall>& calls);

}  // namespace chela::agent::turn
