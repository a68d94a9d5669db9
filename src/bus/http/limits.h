#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// The limits of the HTTP triggers.
namespace chela::bus::http {

inline constexpr size_t kMaxPathBytes = 1024;  // of a route
inline constexpr size_t kMaxSegments = 64;     // of a route
inline constexpr size_t kMaxRoutes = 16384;    // all workers' together
inline constexpr size_t kMaxMiddleware = 32;   // of a route, and again for all routes
inline constexpr size_t kMaxHttpConnections = 4096;
inline constexpr std::uint64_t kMaxStreamedBytes =
    std::uint64_t{16} * 1024 * 1024 * 1024;               // of a body that is streamed
inline constexpr size_t kMaxJsonBytes = 4 * 1024 * 1024;  // of a body that goes into the call
inline constexpr size_t kBodyPieceBytes = 64 * 1024;      // of a message in the channel of a body
inline constexpr size_t kBodyPieces = 4;  // that wait for their reader; then the client is held back
// What a streamed body must bring in a second to lengthen its function's time.
inline constexpr std::uint64_t kLeastBodyRate = 16 * 1024;
inline constexpr size_t kMaxUnsentResponse = 256 * 1024;  // of a stream; then its function is held back
inline constexpr size_t kMaxControlBytes = 64 * 1024;     // of a message that sets status or headers
inline constexpr auto kWriterWait =
    std::chrono::seconds(2);  // for a function that gave no value to begin a response
// For what is under way when the engine stops; then it is answered without its function.
inline constexpr auto kStopWait = std::chrono::milliseconds(1500);
inline constexpr auto kDefaultTimeout = std::chrono::seconds(30);
inline constexpr size_t kDefaultConcurrency = 1024;

}  // namespace chela::bus::http
