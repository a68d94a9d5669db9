#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// The limits of streamed request bodies; those of all servers are in base/limits.h.
namespace chela::net {

inline constexpr size_t kMaxBodyAhead =
    64 * 1024;  // of a body that nobody reads; then its client is held back
// How long a client is waited for while its body comes, and in all for the rest of one that nobody wants.
inline constexpr auto kBodyIdleTimeout = std::chrono::seconds(30);
inline constexpr size_t kSlowestBodyRate = 256;  // bytes; what comes gives back a second for so many
// What may be missing of a body that nobody wants for its connection to be kept: it is read and dropped.
inline constexpr std::uint64_t kMaxDroppedBody = 16 * 1024 * 1024;

}  // namespace chela::net
