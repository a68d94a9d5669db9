#pragma once

#include <chrono>
#include <cstddef>

#include "bus/items/limits.h"

// The limits of streams and their sockets; those of values are items/limits.h.
namespace chela::bus::stream {

inline constexpr size_t kMaxStreamSockets = 1024;
inline constexpr size_t kMaxSocketMessageBytes = 64 * 1024;  // of what a socket sends; then 1009
inline constexpr size_t kMaxSubscriptions = 1024;            // of one socket
inline constexpr size_t kMaxSubscriptionIdBytes = 256;
// What a socket has not taken: past it the next event cuts it off with 1008. One message may be longer, as a list is.
inline constexpr size_t kMaxUntakenBytes = 1024 * 1024;
inline constexpr size_t kMaxSocketBufferBytes = kMaxUntakenBytes + items::kMaxListBytes + 64 * 1024;
inline constexpr size_t kHeldEvents =
    256;  // that wait while a subscriber's first values are read (channel_size)
inline constexpr size_t kMaxHeldEvents = 65536;     // that can be configured
inline constexpr size_t kMaxStreamTriggers = 4096;  // of one user, for one stream
inline constexpr auto kJoinTimeout =
    std::chrono::seconds(30);  // for each trigger that decides about a subscription
inline constexpr auto kAuthTimeout =
    std::chrono::seconds(10);  // for the function that decides about a socket

}  // namespace chela::bus::stream
