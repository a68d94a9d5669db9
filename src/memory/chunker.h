#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace chela::memory {

inline constexpr std::size_t kChunkWords = 800;
inline constexpr std::size_t kChunkOverlap = 120;  // words that a chunk shares with the one before
inline constexpr std::size_t kMinLastWords = 50;   // a shorter rest belongs to the chunk before

// Cuts a document for search. Words are what white space separates; up to kChunkWords give one chunk, more give windows of so many
// words that overlap. A chunk is the document's own text from its first word to its last, line breaks included. Pure.
std::vector<std::string> chunk(const std::string& content);

}  // namespace chela::memory
