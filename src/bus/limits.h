#pragma once

#include <chrono>
#include <cstddef>

#include "base/limits.h"

// The limits of the bus; apart from base/limits.h so that a change of one rebuilds the bus alone.
namespace chela::bus {

// One frame
inline constexpr size_t kMaxFrameBytes = 8 * 1024 * 1024;
inline constexpr size_t kMaxFrameMembers = 64;           // of the envelope
inline constexpr size_t kKeptScannerBytes = 256 * 1024;  // a longer frame gets a scanner of its own
inline constexpr size_t kMaxIdBytes = 256;               // of functions, triggers, trigger types, invocations
inline constexpr size_t kMaxTraceBytes = 8 * 1024;  // of a traceparent or a baggage; a longer one is dropped
inline constexpr size_t kMaxErrorMessageBytes = 64 * 1024;  // of what the bus makes itself
inline constexpr size_t kMaxDescriptionBytes = 16 * 1024;   // of functions and trigger types

// One connection
inline constexpr size_t kMaxFunctionsPerWorker = 4096;
inline constexpr size_t kMaxTriggerTypesPerWorker = 256;
inline constexpr size_t kMaxTriggersPerWorker = 4096;
inline constexpr size_t kMaxRegistrationBytes =
    16 * 1024 * 1024;                            // schemas, metadata and trigger configurations together
inline constexpr size_t kMaxCallsMade = 16384;   // unanswered, by one caller
inline constexpr size_t kMaxCallsServed = 8192;  // unanswered, at one provider
inline constexpr size_t kMaxCallBytes =
    2 * kMaxFrameBytes;  // of the data of its calls that run in the engine
inline constexpr size_t kSoftUnsentBytes =
    1024 * 1024;  // past it callers of a worker are held back until it reads
inline constexpr size_t kMaxUnsentBytes = 32 * 1024 * 1024;  // past it a frame is refused
inline constexpr auto kSlowWorkerWait =
    std::chrono::seconds(2);  // how long a caller is held back for one slow worker
// A peer that takes no byte for so long is cut off. Long, for a channel's reader may be slow on purpose; a worker that is as slow fails
// its pings much earlier.
inline constexpr auto kReadStallTimeout = std::chrono::minutes(10);
inline constexpr size_t kMaxMetadataBytes = 256;  // of each field a worker says of itself
inline constexpr size_t kMaxSessionIds = 10'000;  // of functions or trigger types that a session is told
inline constexpr auto kDecisionTimeout =
    std::chrono::seconds(10);                  // for a function that decides about a registration
inline constexpr int kMaxBadFramesLogged = 5;  // of one connection

// The whole bus
inline constexpr size_t kMaxFiredHops =
    16;  // functions of the engine that call each other by triggers, one behind the other
inline constexpr size_t kMaxProviders = 256;  // of one function
inline constexpr int kMaxPassedOn =
    3;  // how often a call goes to the next worker, as one has given up its function
// What is kept of unanswered calls in case they are passed on; past it a call is the worker's that it went to first.
inline constexpr size_t kMaxSpareBytes = 2 * kMaxFrameBytes;
inline constexpr size_t kSmallSpareBytes = 4096;  // kept also while nobody else provides the function
// A worker that refuses a call of a function it still provides may be about to say that it gives it up.
inline constexpr auto kRefusalPatience = std::chrono::milliseconds(100);
inline constexpr size_t kMaxHeldRefusals = 1024;  // settled later; past it at once
inline constexpr size_t kMaxHeldRefusalBytes = 4096;
inline constexpr size_t kMaxBusConnections = 4096;
inline constexpr auto kEventsDelay =
    std::chrono::milliseconds(100);              // what happens within it is told to triggers together
inline constexpr size_t kMaxWorkerEvents = 256;  // within that delay; more are told as one

}  // namespace chela::bus
