#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "agent/dialects/tool_set.h"

// Calls in Python's notation: f(a=1, b="x"), alone or in a list. Only keyword arguments and literals: nothing is computed.
namespace chela::agent::dialects {

// All calls of the text, or none when one of them is no call of a known tool.
std::vector<Call> python_calls(std::string_view text, const ToolSet& tools);

// The arguments of one call, from `(` to `)`; nothing when they are anything else.
std::optional<json::Value> python_arguments(std::string_view text);

}  // namespace chela::agent::dialects
