#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Names of tools: which are allowed, which match a pattern, which a wrong one may have meant.
namespace chela::tools {

inline constexpr std::size_t kMaxToolName = 64;
inline constexpr std::size_t kMaxNearestNames = 3;

bool valid_name(std::string_view name);

// A name from outside as a message may show it: valid UTF-8 without control characters, cut to kMaxToolName bytes.
std::string shown_name(std::string_view name);

// '*' stands for any text, also none; everything else for itself. Linear in practice: a star is never tried again once a later one
// has matched.
bool glob_matches(std::string_view pattern, std::string_view text);

// Up to kMaxNearestNames of `names` that look like `wanted`, best first: "search_memory" and "memory_serch" are near to "memory_search".
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace chela::tools
