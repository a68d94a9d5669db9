#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::api {

using ToolGroups = std::set<std::string, std::less<>>;

// Whether a permission means anything to this engine: a token with a mistyped one would be good for nothing, and say so to nobody.
// kInvalidArgument names those that there are.
Result<> check_permission(std::string_view permission, const ToolGroups& tool_groups);

}  // namespace chela::api
