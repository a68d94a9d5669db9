#pragma once

#include <chrono>
#include <cstddef>

// Limits of the agent alone; those that people may change, or that others need, are in base/limits.h.
namespace chela::agent {

using namespace std::chrono_literals;

// Until the end of a credential request that could not be recorded is tried again. As often as it takes: a turn waits for it.
inline constexpr auto kCredentialRetry = 30s;
// Of all images that one model request carries; the newest have room first, the others are named as text.
inline constexpr size_t kMaxRequestImageBytes = 16 * 1024 * 1024;

}  // namespace chela::agent
