#pragma once

#include <cstddef>

// What a trace may hold. It comes from a file of anybody.
namespace chela::agent::traces {

inline constexpr size_t kMaxTraceBytes = 16 * 1024 * 1024;  // of the text
inline constexpr size_t kMaxTraceTurns = 2000;
inline constexpr size_t kMaxTraceSteps = 20'000;    // of all turns together
inline constexpr size_t kMaxTraceExchanges = 2000;  // HTTP
inline constexpr size_t kMaxTraceDocuments = 2000;  // of memory; as many files
inline constexpr size_t kMaxTraceSettings = 64;     // of the run
inline constexpr size_t kMaxTraceHintBytes = 80;    // of the last user message, as an export keeps it
inline constexpr size_t kMaxTraceReplyBytes = 200;  // of a reply that an export expects
inline constexpr size_t kMaxTraceResultBytes =
    4096;  // of a tool result that an export expects; larger ones are left out
inline constexpr size_t kMaxQuotedBytes = 300;  // of what a failed expectation shows

}  // namespace chela::agent::traces
