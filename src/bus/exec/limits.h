#pragma once

#include <chrono>
#include <cstddef>

namespace chela::bus::exec {

inline constexpr size_t kMaxCommands = 64;
inline constexpr size_t kMaxCommandBytes = 16 * 1024;
inline constexpr size_t kMaxPatterns = 64;
inline constexpr size_t kMaxWatchedFiles = 20'000;  // looked at in one round; more are not watched
inline constexpr auto kWatchInterval = std::chrono::seconds(1);
inline constexpr auto kFirstRestart = std::chrono::seconds(1);  // after a command failed; doubles
inline constexpr auto kLastRestart = std::chrono::seconds(30);

}  // namespace chela::bus::exec
