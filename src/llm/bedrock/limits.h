#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace chela::llm::bedrock {

using namespace std::chrono_literals;

inline constexpr size_t kMaxProfileBytes = 256 * 1024;  // of ~/.aws/credentials and ~/.aws/config
inline constexpr size_t kMaxMetadataBytes =
    64 * 1024;                                // of an answer of the machine's or container's metadata
inline constexpr auto kMetadataTimeout = 2s;  // for it to answer: on other machines nothing does
inline constexpr auto kRenewBefore = 5min;    // credentials are fetched anew so long before they expire

}  // namespace chela::llm::bedrock
