#pragma once

#include <chrono>
#include <cstddef>

// Every limit of a queue, buffer, loop, retry or recursion has its name here and a test that reaches it. Values that people may
// change are configuration keys whose defaults these are.
namespace chela {

using namespace std::chrono_literals;

// Values
inline constexpr size_t kMaxForeignIdBytes = 256;
inline constexpr size_t kMaxJsonDepth = 128;
inline constexpr int kMaxSchemaDepth = 32;
inline constexpr size_t kMaxSchemaFaults = 8;  // named in one error

// Runtime
inline constexpr size_t kMaxPoolQueue = 4096;  // blocking work waiting for a thread

// Observation
inline constexpr size_t kMaxLogFileBytes = 10 * 1024 * 1024;
inline constexpr size_t kMaxLogFiles = 5;
inline constexpr size_t kMaxMetricSeries = 1000;  // label sets of one metric

// Files
inline constexpr int kMaxLinks = 40;  // symbolic links followed in one path
inline constexpr size_t kMaxConfigBytes = 1024 * 1024;

// HTTP server
inline constexpr size_t kMaxHeaderBytes = 32 * 1024;
inline constexpr size_t kMaxHeaderFields = 256;
inline constexpr size_t kMaxBodyBytes = 1024 * 1024;
inline constexpr size_t kMaxV1BodyBytes = 10 * 1024 * 1024;
inline constexpr size_t kMaxConnections = 1024;
inline constexpr size_t kMaxWriteBufferBytes =
    4 * 1024 * 1024;  // unsent bytes of one connection; then the client is cut off
inline constexpr auto kRequestReadTimeout = 30s;  // from the first byte of a request to its last
inline constexpr auto kIdleConnectionTimeout = 120s;
inline constexpr auto kSseKeepAlive = 30s;
inline constexpr auto kWriteStallTimeout = 60s;  // a client that takes no byte for so long is cut off
inline constexpr size_t kMaxPipelinedBytes =
    64 * 1024;  // read ahead while a request is handled; then reading pauses
inline constexpr auto kLingerTimeout =
    2s;  // for a refused client to read the answer before the connection closes
inline constexpr size_t kMaxLingerBytes = 1024 * 1024;  // what it may still send meanwhile
inline constexpr auto kAcceptRetryDelay = 100ms;        // after the process ran out of file descriptors
inline constexpr size_t kMaxWebSocketMessageBytes = 16 * 1024 * 1024;
inline constexpr auto kWebSocketPingInterval = 30s;

// HTTP client
inline constexpr size_t kMaxClientHeaderBytes = 256 * 1024;
inline constexpr size_t kMaxClientBodyBytes = 64 * 1024 * 1024;
inline constexpr size_t kMaxClientQueuedBytes =
    1024 * 1024;  // received and not yet read by the caller; then the transfer pauses
inline constexpr size_t kMaxSseEventBytes = 4 * 1024 * 1024;
inline constexpr int kMaxRedirects = 3;
inline constexpr long kMaxIdleClientConnections = 32;  // kept open for reuse

// Store
inline constexpr size_t kMaxWriteQueue = 16384;  // writes waiting for the writer thread
inline constexpr size_t kMaxGroupCommit = 1024;  // writes joined into one transaction
inline constexpr auto kMaxLazyDelay = 50ms;      // how long a lazy write may wait for a commit to ride with
inline constexpr size_t kMaxBlobBytes = 64 * 1024 * 1024;
inline constexpr size_t kMaxWriteQueueBytes = 256 * 1024 * 1024;  // of their contents
inline constexpr auto kStoreRetryAfter = 1s;                      // told to who finds the write queue full
inline constexpr int kCheckpointPages =
    4096;                                // of 4 KiB in the write-ahead log: then they are copied back at once
inline constexpr int kMaxWalFactor = 4;  // times kCheckpointPages: then readers are waited for
inline constexpr int kIdleCheckpointPages = 256;  // worth copying back in a pause
inline constexpr auto kIdleCheckpointDelay = 1s;  // how long such a pause lasts
inline constexpr auto kIdempotencyWindow = 24h;   // how long a client's key is remembered
inline constexpr size_t kMaxExpiredKeys = 512;    // forgotten at once, so that no append waits long
inline constexpr int kExpireKeysEvery = 256;      // appends with a key
inline constexpr size_t kMaxSearchTerms = 64;     // of one full-text query; further ones are ignored

// Turns
inline constexpr size_t kMaxMessageBytes = 100'000;
inline constexpr int kMaxIterations = 50;        // model calls of one turn
inline constexpr int kMaxRepeatedCalls = 3;      // same tool, same arguments, same result
inline constexpr size_t kMaxSteeringQueue = 32;  // messages waiting to join a running turn
inline constexpr size_t kMaxQueuedTurns = 32;
inline constexpr size_t kMaxRunningTurns = 256;
inline constexpr size_t kMaxLoadedThreads = 512;   // idle ones beyond it are read from the log again
inline constexpr size_t kMaxKnownOutcomes = 4096;  // finished turns whose outcome is kept at hand
inline constexpr size_t kMaxRecalledLines = 3;     // remembered lines shown with a message
inline constexpr size_t kMaxParallelTools = 16;
inline constexpr size_t kMaxToolCallsPerAnswer = 64;
inline constexpr size_t kMaxToolResultBytes = 100'000;  // what the model is shown of one result
inline constexpr size_t kMaxModelAnswerBytes = 8 * 1024 * 1024;
inline constexpr size_t kMaxDeltaRing = 4096;        // deltas kept of a running model call
inline constexpr size_t kMaxEventSubscribers = 100;  // per user
inline constexpr size_t kMaxSubscriberQueue = 512;   // events waiting for one subscriber; then it is cut off
inline constexpr auto kCancelGrace = 2s;             // between SIGTERM and SIGKILL of a child

// Model calls
inline constexpr int kMaxModelRetries = 3;
inline constexpr auto kRetryBase = 1s;
inline constexpr auto kRetryCeiling = 60s;
inline constexpr auto kModelStallTimeout = 120s;  // without a byte from the provider
inline constexpr auto kModelConnectTimeout = 15s;
inline constexpr size_t kMaxModelStreamBytes =
    256 * 1024 * 1024;                           // of one answer on the wire, framing and comments included
inline constexpr size_t kMaxAnswerCalls = 1024;  // tool calls read from one answer; the turn runs fewer
inline constexpr size_t kMaxModelErrorBytes = 64 * 1024;  // read of a provider's error body
inline constexpr size_t kMaxProviderMessageBytes = 1000;  // quoted of it in an error
inline constexpr auto kModelFinishTimeout = 5s;  // for usage and the end, once the finish reason is there
inline constexpr auto kModelDrainTimeout =
    250ms;  // for the end of the response after [DONE], so that its connection is kept

// Local models
inline constexpr int kMaxInferStarts = 3;  // of chela-infer within kInferStartWindow
inline constexpr auto kInferStartWindow = 60s;
inline constexpr auto kInferStartTimeout = 30s;  // until its socket answers
inline constexpr auto kInferPollInterval = 20ms;
inline constexpr size_t kMaxInferLogTail = 4096;  // last bytes of its stderr, for errors

// Tools
inline constexpr auto kToolTimeout = 60s;
inline constexpr size_t kMaxFileReadBytes = 1024 * 1024;
inline constexpr size_t kMaxFileWriteBytes = 10 * 1024 * 1024;
inline constexpr size_t kMaxDirEntries = 1000;
inline constexpr int kMaxDirDepth = 10;

// Memory
inline constexpr size_t kMaxDocumentBytes = 4 * 1024 * 1024;
inline constexpr size_t kMaxSearchResults = 20;
inline constexpr size_t kMaxQueryBytes = 4096;

}  // namespace chela
