#pragma once

#include <chrono>
#include <cstddef>

// The limits of data channels.
namespace chela::bus::channels {

inline constexpr size_t kDefaultBuffer =
    64;                                     // messages that wait for the reader; then the writer is held back
inline constexpr size_t kMaxBuffer = 1024;  // that may be asked for
inline constexpr size_t kMaxBufferedBytes = 1024 * 1024;  // of them, whatever their number
inline constexpr size_t kMaxMessageBytes = 1024 * 1024;   // a longer one ends the channel
inline constexpr size_t kMaxChannelsPerWorker = 1024;     // made by one connection and not over
inline constexpr size_t kMaxUnreadBytes = 256 * 1024;     // at a reader's socket; then the channel waits
inline constexpr auto kUntakenTime =
    std::chrono::minutes(5);  // a channel of which an end was not taken is swept
inline constexpr auto kSweepInterval = std::chrono::seconds(60);
// A reader that is slow on purpose answers no ping: it has this long, twice, before it counts as gone.
inline constexpr auto kPingInterval = std::chrono::minutes(10);

}  // namespace chela::bus::channels
