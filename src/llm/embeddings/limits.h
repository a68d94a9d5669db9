#pragma once

#include <cstddef>

// The limits of this folder.
namespace chela::llm::embeddings {

inline constexpr size_t kMaxDimensions = 16'384;             // of one vector that a provider may answer with
inline constexpr size_t kGeminiBatch = 100;                  // texts of one request, as Google has it
inline constexpr size_t kBatch = 256;                        // of others
inline constexpr size_t kMaxAnswerBytes = 64 * 1024 * 1024;  // of one batch: its vectors as text

}  // namespace chela::llm::embeddings
