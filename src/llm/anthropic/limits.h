#pragma once

#include <cstdint>

namespace chela::llm::anthropic {

// The protocol wants a longest answer with each request; this is it when nobody said one.
inline constexpr std::int64_t kDefaultMaxTokens = 8192;
inline constexpr std::int64_t kOldMaxTokens = 4096;       // of the third generation, which refuses more
inline constexpr std::int64_t kMinThinkingTokens = 1024;  // a smaller budget is refused

}  // namespace chela::llm::anthropic
