#pragma once

#include <optional>
#include <string_view>

#include "agent/dialects/tool_set.h"

namespace chela::agent::dialects {

// {tool => "NAME", args => {--key "value" ...}}
std::optional<Call> perl_call(std::string_view text, const ToolSet& tools);

// NAME <code>key>value lines</code>: what stands inside <FunctionCall>.
std::optional<Call> function_call(std::string_view text, const ToolSet& tools);

}  // namespace chela::agent::dialects
