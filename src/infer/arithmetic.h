// Finds the sum that a person writes in words, digits or both: "250 divided by 8" -> "250/8".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chela::infer {

struct Arithmetic {
  std::string expression;      // in the notation of the calculator tool, without spaces
  std::size_t words_left = 0;  // words of the text that took no part
};

// Nothing when the text holds no complete expression with at least one operator or function. Dates and times are no expressions.
std::optional<Arithmetic> find_arithmetic(std::string_view text);

}  // namespace chela::infer
