#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// What somebody may have meant who mistyped a name.
namespace chela::likeness {

// How many bytes must be put in, left out or replaced to make one text of the other.
std::size_t distance(std::string_view a, std::string_view b);

// The one of `names` that is most like `word`; "" when none is, or when the word is too long to be a mistyped name.
std::string closest(std::string_view word, const std::vector<std::string>& names);

}  // namespace chela::likeness
