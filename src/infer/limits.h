// Every limit of chela-infer in one place; a request over one of them is refused with the limit's name in the message.
#pragma once

#include <chrono>
#include <cstddef>

namespace chela::infer {

// What comes in.
inline constexpr std::size_t kMaxMessages = 4096;
inline constexpr std::size_t kMaxTools = 256;
inline constexpr std::size_t kMaxStopStrings = 8;
inline constexpr std::size_t kMaxStopBytes = 64;
inline constexpr std::size_t kMaxEmbeddingInputs = 2048;
inline constexpr std::size_t kMaxEmbeddingInputBytes = 32'000;
// Routing looks at this much of a request; nobody asks for a tool with more, and rules stay fast.
inline constexpr std::size_t kMaxRoutedBytes = 4096;

// What the models are given.
inline constexpr std::size_t kEmbeddingTokens = 256;  // longer texts are cut, as the model was trained
inline constexpr std::size_t kEmbeddingBatchTokens =
    2048;  // a non-causal model needs a whole text in one batch
inline constexpr std::size_t kEmbeddingBatchTexts = 32;
inline constexpr std::size_t kSmallPromptTokens = 1500;
inline constexpr std::size_t kSmallContextTokens = 2048;
inline constexpr std::size_t kSmallAnswerTokens = 512;
inline constexpr std::size_t kEarlierTurns = 4;
inline constexpr std::size_t kPlainContextTokens =
    8192;  // other models: this or what they were trained for, if less
inline constexpr std::size_t kPlainAnswerTokens = 2048;
inline constexpr std::size_t kPromptBatchTokens = 512;
inline constexpr std::size_t kSpanWords = 60;  // words of a request that the span grammar spells out
inline constexpr std::size_t kSpanAnswerTokens = 96;

// What an answer from a template quotes.
inline constexpr std::size_t kMaxQuotedMemories = 3;
inline constexpr std::size_t kMaxRankedSentences = 256;

// The server.
inline constexpr std::size_t kMaxQueuedRequests = 8;
inline constexpr std::size_t kMaxCachedToolVectors = 1024;
inline constexpr std::chrono::seconds kDefaultIdle{600};

}  // namespace chela::infer
