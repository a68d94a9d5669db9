#pragma once

#include <string>
#include <string_view>

namespace chela::tools {

// What a model knows a function of the bus by: [A-Za-z0-9_-]{1,64}. "tool::" in front goes, "::" becomes "__". Where that could not be
// told from the name of another function, or does not fit, the name ends with a part of the id's hash. It depends on the id alone,
// so that it stays while others come and go.
std::string tool_name(std::string_view function_id);

}  // namespace chela::tools
