#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

// Paths of workspace documents: "daily/2026-01-02.md". They name rows, not files.
namespace chela::memory {

inline constexpr std::size_t kMaxPathBytes = 512;
inline constexpr std::size_t kMaxPathDepth = 16;

// Trims, drops slashes at both ends, "//" and "."; "" is the root. kInvalidArgument: "..", control characters, a backslash, invalid UTF-8,
// too long or too deep.
Result<std::string> normalise_folder(std::string_view path);
// The same for a document: the root is refused.
Result<std::string> normalise_path(std::string_view path);

std::string_view file_name(std::string_view path);  // after the last slash

}  // namespace chela::memory
