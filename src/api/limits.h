#pragma once

#include <cstddef>
#include <cstdint>

// The limits of this folder.
namespace chela::api {

inline constexpr size_t kMaxEmbeddingTexts = 2048;         // of one request, as OpenAI has it
inline constexpr size_t kMaxEmbeddingTextBytes = 100'000;  // of one text
inline constexpr std::int64_t kMaxEmbeddingDimensions = 16'384;

}  // namespace chela::api
