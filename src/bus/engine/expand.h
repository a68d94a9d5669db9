#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::bus {

inline constexpr size_t kMaxExpandedBytes = 1024 * 1024;  // of a configuration with its variables in place

// Puts variables into the raw text of a configuration, comments included: ${NAME}, or ${NAME:value} with what counts when NAME is not
// set. A value runs to the first }, and is not looked through again. kInvalidArgument names line and variable that is not set.
Result<std::string> expand(std::string_view text, std::string_view path,
                           const std::function<std::optional<std::string>(std::string_view name)>& variable);

}  // namespace chela::bus
