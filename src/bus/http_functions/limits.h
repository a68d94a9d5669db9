#pragma once

#include <chrono>
#include <cstddef>

#include "bus/limits.h"

// The limits of functions that are called over HTTP.
namespace chela::bus::http_functions {

inline constexpr size_t kMaxUrlBytes = 4096;
inline constexpr size_t kMaxHeaders = 64;                  // of one function
inline constexpr size_t kMaxAnswerBytes = kMaxFrameBytes;  // it goes on in a frame
inline constexpr auto kDefaultTimeout = std::chrono::seconds(30);
inline constexpr auto kMaxTimeout = std::chrono::seconds(60);
inline constexpr size_t kMaxAllowedHosts = 1024;  // patterns in the configuration

}  // namespace chela::bus::http_functions
