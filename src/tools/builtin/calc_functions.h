#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/builtin/calc_number.h"

namespace chela::tools::calc {

inline constexpr std::size_t kMaxFunctionArguments = 100;

// pi and e; kInvalidArgument for another name.
Result<Number> constant(std::string_view name);

bool is_function(std::string_view name);
// Angles are in radians; log(x) has base 10, log(x, b) base b, ln(x) base e; round(x) rounds halves away from zero, round(x, n) to n
// digits after the point.
Result<Number> call_function(std::string_view name, const std::vector<Number>& arguments);

}  // namespace chela::tools::calc
