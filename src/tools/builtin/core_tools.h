#pragma once

#include <memory>

#include "tools/tool.h"

// Tools that only compute: quick, bounded by their limits, without any resource.
namespace chela::tools {

std::unique_ptr<Tool> make_echo_tool();
std::unique_ptr<Tool> make_calculator_tool();
std::unique_ptr<Tool> make_json_tool();

}  // namespace chela::tools
