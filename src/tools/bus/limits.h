#pragma once

#include <cstddef>

// What workers may add to the prompts of a user.
namespace chela::tools {

inline constexpr size_t kMaxWorkerTools = 128;              // of one user; further ones are not offered
inline constexpr size_t kMaxWorkerToolsBytes = 256 * 1024;  // of their names, descriptions and schemas
inline constexpr size_t kMaxWorkerToolSchemaBytes = 32 * 1024;
inline constexpr size_t kMaxWorkerToolDescriptionBytes = 4 * 1024;  // a longer one is cut
inline constexpr size_t kMaxKnownToolUsers = 256;                   // whose tools are kept at hand
inline constexpr size_t kMaxToldToolProblems = 256;  // reasons in the log that are not repeated

}  // namespace chela::tools
