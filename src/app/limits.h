#pragma once

#include <chrono>
#include <cstddef>

// Limits of the program alone.
namespace chela::app {

// Of one line of `chela inspect`: the largest answer of a model, every byte of it escaped, with its tools.
inline constexpr size_t kMaxInspectLineBytes = 64 * 1024 * 1024;
// Read at once.
inline constexpr size_t kInspectReadBytes = 256 * 1024;

// For one call of a worker's `memory::store`.
inline constexpr auto kBusStoreTime = std::chrono::seconds(10);
// Ended turns that wait for it; further ones are not handed over.
inline constexpr size_t kMaxTurnsToStore = 256;

// In the folder of recorded traces; no further thread is recorded then.
inline constexpr size_t kMaxRecordedTraces = 1000;
// That are recorded into one file.
inline constexpr size_t kMaxThreadsOfOneTrace = 100;

}  // namespace chela::app
