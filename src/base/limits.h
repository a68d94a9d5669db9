#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// Limits of queues, buffers, loops, retries and recursion that people may change (as configuration keys whose defaults these are) or
// that several folders know. A limit of one folder stands in that folder's limits.h. Each has a test that reaches it.
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
inline constexpr size_t kMaxMetricSeries = 1000;         // label sets of one metric
inline constexpr size_t kLogRingEntries = 512;           // newest lines kept in memory
inline constexpr size_t kLogReplayEntries = 500;         // of them that a new follower is shown
inline constexpr size_t kMaxLogRingMessageBytes = 4096;  // of one kept line
inline constexpr size_t kMaxLogFollowers = 16;           // of the live log

// Files
inline constexpr int kMaxLinks = 40;  // symbolic links followed in one path
inline constexpr size_t kMaxConfigBytes = 1024 * 1024;

// Settings
inline constexpr size_t kMaxSettingKeyBytes = 128;
inline constexpr size_t kMaxSettingBytes = 64 * 1024;  // of one value
inline constexpr size_t kMaxFreeSettings = 1000;       // ui.* of one user

// HTTP server
inline constexpr size_t kMaxHeaderBytes = 32 * 1024;
inline constexpr size_t kMaxHeaderFields = 256;
inline constexpr size_t kMaxBodyBytes = 1024 * 1024;
inline constexpr size_t kMaxV1BodyBytes = 10 * 1024 * 1024;
inline constexpr size_t kMaxConnections = 1024;
inline constexpr size_t kMaxWriteBufferBytes =
    4 * 1024 * 1024;                             // unsent bytes of one connection; then the client is cut off
inline constexpr auto kHeaderReadTimeout = 10s;  // from the first byte of a request to the end of its head
inline constexpr auto kRequestReadTimeout = 30s;  // from the first byte of a request to its last
inline constexpr auto kIdleConnectionTimeout = 120s;
inline constexpr auto kSseKeepAlive = 30s;
inline constexpr auto kWriteStallTimeout = 60s;  // a client that takes no byte for so long is cut off
inline constexpr size_t kMaxPipelinedBytes =
    64 * 1024;  // read ahead while a request is handled; then reading pauses
inline constexpr auto kLingerTimeout =
    2s;  // for a refused client to read the answer before the connection closes
inline constexpr size_t kMaxLingerBytes = 1024 * 1024;  // what it may still send meanwhile
inline constexpr size_t kMaxRefusedConnections =
    64;  // beyond the limit of connections, heard before they are refused; the others are refused unheard
inline constexpr auto kRefusedRequestWait = 500ms;  // for the path of such a connection's request
inline constexpr auto kAcceptRetryDelay = 100ms;    // after the process ran out of file descriptors
inline constexpr size_t kMaxWebSocketMessageBytes = 16 * 1024 * 1024;
inline constexpr auto kWebSocketPingInterval = 30s;

// Logins
inline constexpr int kMaxFailedLogins = 30;  // wrong tokens of one address within kFailedLoginWindow
inline constexpr auto kFailedLoginWindow = 60s;
inline constexpr size_t kMaxFailedLoginAddresses = 4096;  // counted at once; then the oldest is forgotten

// HTTP client
inline constexpr size_t kMaxClientHeaderBytes = 256 * 1024;
inline constexpr size_t kMaxClientBodyBytes = 64 * 1024 * 1024;
inline constexpr size_t kMaxClientQueuedBytes =
    1024 * 1024;  // received and not yet read by the caller; then the transfer pauses
inline constexpr size_t kMaxSseEventBytes = 4 * 1024 * 1024;
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
inline constexpr int kIdleCheckpointPages = 256;     // worth copying back in a pause
inline constexpr auto kIdleCheckpointDelay = 1s;     // how long such a pause lasts
inline constexpr auto kIdempotencyWindow = 24h;      // how long a client's key is remembered
inline constexpr size_t kMaxExpiredKeys = 512;       // forgotten at once, so that no append waits long
inline constexpr int kExpireKeysEvery = 256;         // appends with a key
inline constexpr size_t kMaxSearchTerms = 64;        // of one full-text query; further ones are ignored
inline constexpr auto kDeliveredReplyAge = 7 * 24h;  // how long the outbox keeps what has been delivered
inline constexpr size_t kMaxPrunedReplies = 512;     // deleted at once, so that no delivery waits long

// Turns
inline constexpr size_t kMaxStopSequences = 4;  // of one request, as OpenAI has it
inline constexpr size_t kMaxMessageBytes = 100'000;
inline constexpr int kMaxIterations = 50;        // model calls of one turn
inline constexpr int kMaxRepeatedCalls = 3;      // same tool, same arguments, same result
inline constexpr size_t kMaxSteeringQueue = 32;  // messages waiting to join a running turn
inline constexpr size_t kMaxQueuedTurns = 32;
inline constexpr size_t kMaxRunningTurns = 256;
inline constexpr size_t kMaxLoadedThreads = 512;      // idle ones beyond it are read from the log again
inline constexpr size_t kMaxKnownOutcomes = 4096;     // finished turns whose outcome is kept at hand
inline constexpr size_t kMaxRecalledLines = 3;        // remembered lines shown with a message
inline constexpr size_t kMaxKnownBlobs = 8192;        // hashes of contents that need not be stored again
inline constexpr size_t kMaxKnownPrompts = 64;        // system prompts and tool lists kept with their hashes
inline constexpr size_t kHistoryPage = 256;           // records read at once, from the newest back
inline constexpr int kMaxForkDepth = 64;              // forks of forks whose logs make one conversation
inline constexpr size_t kMaxUndo = 20;                // turns of a thread that can be taken back
inline constexpr size_t kMaxSummaryBytes = 8 * 1024;  // of a summary that stands for old turns
inline constexpr size_t kMaxSummarySourceBytes = 200'000;  // of the turns it is written from; the rest is cut
inline constexpr auto kSummaryTimeout = 60s;               // for the model to write it
inline constexpr auto kModelListTimeout = 10s;             // for a provider to say which models it has
inline constexpr size_t kMaxListedModels = 100;
inline constexpr auto kCredentialTimeout = 10min;  // for a person to give a credential that was asked for
inline constexpr size_t kMaxCredentialBytes = 16 * 1024;
inline constexpr size_t kMaxAttachments = 8;                    // of one message
inline constexpr size_t kMaxAttachmentBytes = 7 * 1024 * 1024;  // of all of them together
inline constexpr size_t kMaxAttachmentNameBytes = 120;
inline constexpr size_t kMaxAttachedImageBytes =
    5 * 1024 * 1024;                                        // shown to a model; larger ones are only saved
inline constexpr size_t kMaxAttachedTextBytes = 64 * 1024;  // of all text files of a message, put into it
inline constexpr size_t kMaxParallelTools = 16;
inline constexpr size_t kMaxToolCallsPerAnswer = 64;
inline constexpr size_t kMaxToolResultBytes = 100'000;  // what the model is shown of one result
inline constexpr size_t kMaxModelAnswerBytes = 8 * 1024 * 1024;
inline constexpr size_t kMaxDeltaRing = 4096;        // deltas kept of a running model call
inline constexpr size_t kMaxEventSubscribers = 100;  // per user
inline constexpr size_t kMaxSubscriberQueue = 512;   // events waiting for one subscriber; then it is cut off
inline constexpr size_t kMaxUsageModels = 64;  // told apart in the counts since the start; others are one
inline constexpr int kMaxUsageDays = 366;      // of one usage report
inline constexpr auto kCancelGrace = 2s;       // between SIGTERM and SIGKILL of a child

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
inline constexpr size_t kMaxFileWriteBytes = 10 * 1024 * 1024;
inline constexpr size_t kMaxDirEntries = 1000;
inline constexpr int kMaxDirDepth = 10;

// Vault
inline constexpr size_t kMaxSecretNameBytes = 128;
inline constexpr size_t kMaxSecretBytes = 64 * 1024;
inline constexpr size_t kMaxSecrets = 1000;  // of one home
inline constexpr size_t kMaxVaultBytes = 8 * 1024 * 1024;
inline constexpr size_t kMinMasterKeyBytes = 32;
inline constexpr size_t kMaxMasterKeyBytes = 4096;
inline constexpr auto kVaultLockWait = 5s;  // for another process that writes
inline constexpr auto kVaultLockPoll = 10ms;

// The command line's own work
inline constexpr auto kProbeTimeout = 10s;      // of one check of `chela doctor`, model calls included
inline constexpr auto kTestCallTimeout = 120s;  // of the wizard's first model call: a local model loads
inline constexpr std::uintmax_t kMinDiskBytes =
    64 * 1024 * 1024;  // free; below it the database cannot be relied on
inline constexpr std::uintmax_t kLowDiskBytes = 1024 * 1024 * 1024;  // free; below it `chela doctor` warns
inline constexpr int kMaxWizardTries = 5;       // wrong answers to one question; then it is skipped
inline constexpr size_t kMaxWizardModels = 40;  // of a provider's list that are shown
inline constexpr auto kSystemctlTimeout = 60s;
inline constexpr size_t kMaxCommandOutput = 256 * 1024;  // read of a program such as systemctl

// Memory
inline constexpr size_t kMaxDocumentBytes = 4 * 1024 * 1024;
inline constexpr size_t kMaxSearchResults = 20;
inline constexpr size_t kMaxQueryBytes = 4096;

// Terminal
inline constexpr size_t kMaxTypedBytes =
    4 * kMaxMessageBytes;                           // of one input line; the engine says what is too long
inline constexpr size_t kMaxKeySequenceBytes = 64;  // of an escape sequence; what is longer is dropped
inline constexpr auto kEscapeDelay = 50ms;          // after this a lone escape is the key
inline constexpr size_t kMaxHistoryEntries = 1000;
inline constexpr size_t kMaxHistoryEntryBytes = 16 * 1024;   // longer input is not kept
inline constexpr size_t kMaxCompletions = 200;               // candidates of one word
inline constexpr size_t kMaxCompletionRows = 8;              // shown at a time
inline constexpr size_t kMaxMarkdownLineBytes = 16 * 1024;   // held back while it comes; then it is cut
inline constexpr size_t kMaxMarkdownTableBytes = 32 * 1024;  // held back to find the columns' widths
inline constexpr size_t kMaxMarkdownColumns = 64;            // of a table; further ones are left out
inline constexpr size_t kMaxEmphasisDepth = 16;              // open emphasis marks of one line
inline constexpr size_t kMaxQuoteDepth = 8;
inline constexpr auto kFrameInterval = 16ms;  // between two paintings of the same area
inline constexpr auto kSpinnerInterval = 100ms;
inline constexpr size_t kMaxPreviewChars = 200;    // shown of a tool's result
inline constexpr size_t kMaxParameterChars = 120;  // shown of each parameter of a call that is asked about
inline constexpr size_t kMaxOtherParameterChars = 300;  // of parameters that are no object
inline constexpr int kMaxReconnects = 8;                // of an event stream that broke
inline constexpr auto kReconnectBase = 100ms;
inline constexpr auto kReconnectCeiling = 2s;

}  // namespace chela
