#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// The limits of this folder.
namespace chela::llm::budget {

using namespace std::chrono_literals;

// A reservation that a crash left, and what a crash may have hidden, count as spent for so long.
inline constexpr auto kReservationLife = 1h;
// This part of a limit may be reserved without being on the disk: what a crash can hide of it.
inline constexpr std::int64_t kUnwrittenShare = 5;
// The longest answer of a model when neither the request nor a limit says another, once money is limited.
inline constexpr std::int64_t kAssumedAnswerTokens = 8192;
inline constexpr std::int64_t kAssumedThoughtTokens = 16384;  // more, where it is told to think
inline constexpr std::int64_t kMinAnswerTokens = 256;     // an answer is not cut below that to fit a limit
inline constexpr size_t kMaxMeters = 100'000;             // accounts of one limit counted at once
inline constexpr size_t kMaxKnownPrompts = 4096;          // whose tokens a provider has counted
inline constexpr size_t kMaxCorrectedModels = 64;         // whose tokens were more than bytes
inline constexpr std::int64_t kMaxAddedTokens = 200'000;  // that a server puts to a prompt unseen
inline constexpr size_t kMaxUnpricedModels = 64;          // told of in the log, once each
inline constexpr auto kKeepCalls = 24h * 400;             // then their rows are deleted

}  // namespace chela::llm::budget
