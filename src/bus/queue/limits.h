#pragma once

#include <chrono>
#include <cstddef>

namespace chela::bus::queue {

// Configuration
inline constexpr size_t kMaxConcurrency = 4096;
inline constexpr int kMaxAttempts = 1000;
inline constexpr auto kMaxBackoff = std::chrono::hours(24);
inline constexpr auto kMaxDelay = std::chrono::hours(24 * 7);
inline constexpr int kMaxPriority = 255;
inline constexpr size_t kMaxNameBytes = 256;  // of queues and topics

// What is kept. Messages past these are refused with enqueue_error; nothing that was taken is dropped.
inline constexpr size_t kMaxQueues = 4096;                  // of all users, with the queue of each subscriber
inline constexpr size_t kMaxSubscribers = 256;              // of one topic
inline constexpr size_t kMaxMessages = 100'000;             // of one queue, dead ones included
inline constexpr size_t kMaxQueueBytes = 64 * 1024 * 1024;  // of all that they hold
inline constexpr size_t kMaxTotalBytes = 256 * 1024 * 1024;  // of all queues
inline constexpr size_t kMaxUserQueues = kMaxQueues / 4;     // of them, of one user
inline constexpr size_t kMaxUserBytes = kMaxTotalBytes / 2;  // of these, of one user
inline constexpr size_t kMaxKnownTokens = 1024;  // of senders, that are known to be good until they end
inline constexpr size_t kMessageOverhead = 512;  // counted for each message beside its texts
inline constexpr size_t kMaxGroupBytes = 1024;   // of the JSON that names a fifo queue's group
inline constexpr auto kSubscriptionGrace =
    std::chrono::hours(24);                     // how long messages are kept for a subscriber that has gone
inline constexpr size_t kMaxErrorBytes = 1024;  // kept of why a message failed

// Work
inline constexpr size_t kMaxStartsPerTurn =
    256;  // of messages of one queue, before others on the loop get a turn
// Of the messages of one queue that run; the one that passes it is the last. Below what is kept for a worker that reads slowly
// (kMaxUnsentBytes), with room for that last one.
inline constexpr size_t kMaxRunningBytes = 16 * 1024 * 1024;
inline constexpr auto kLazyDelay =
    std::chrono::milliseconds(10);      // how long a completion waits for a commit to ride with
inline constexpr int kGatherShare = 4;  // of what a commit took is how long the next waits for more
inline constexpr size_t kMaxGathered =
    64;  // that it waits for: with more, handling them beside the disk saves more than a sync
inline constexpr size_t kMaxLazyChanges = 4096;                 // then it asks for one
inline constexpr size_t kMaxCommitChanges = 4096;               // of one commit
inline constexpr size_t kMaxDeadPerCommit = 2048;               // two changes each
inline constexpr auto kJournalRetry = std::chrono::seconds(1);  // after a commit of completions failed
inline constexpr size_t kMaxListed = 1000;                      // dead messages of one answer
inline constexpr size_t kMaxListedBytes = 4 * 1024 * 1024;  // of them; the first is listed whatever it has

}  // namespace chela::bus::queue
