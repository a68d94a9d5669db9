#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::tools {

inline constexpr std::size_t kMaxExpressionBytes = 1000;
inline constexpr int kMaxExpressionDepth = 100;

// The value of an expression as text. + - * / % ^ (also ** and the signs of mathematics), parentheses, !, numbers, pi, e, functions.
// ^ binds tighter than a sign before it and groups to the right: -2^2 is -4, 2^3^2 is 512. % is the remainder with the divisor's
// sign. Whole numbers and decimals are exact; what is not (sqrt(2), sin(1), 1/3) is rounded to 15 or 16 digits.
// kInvalidArgument says what is wrong and near which text.
Result<std::string> calculate(std::string_view expression);

}  // namespace chela::tools
