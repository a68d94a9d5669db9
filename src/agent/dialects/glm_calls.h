#pragma once

#include <optional>
#include <string_view>

#include "agent/dialects/tool_set.h"

// GLM's older notations, which name a tool and say little more.
namespace chela::agent::dialects {

// What stands between <tool_call> and its end: tool>value, tool key="value", tool(key="value"), tool(value).
std::optional<Call> glm_body(std::string_view text, const ToolSet& tools);

// A line tool/parameter>value: `tool` is what `written` stands for. Only a parameter that the tool has.
std::optional<Call> glm_line(const Tool& tool, std::string_view written, std::string_view parameter,
                             std::string_view value);

// A letter of the name of a tool.
bool is_name_char(char c);

}  // namespace chela::agent::dialects
