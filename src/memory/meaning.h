#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "memory/embedder.h"
#include "store/memory_store.h"

namespace chela::memory {

inline constexpr std::size_t kMaxRankedHits = 20;       // that are looked at: the best by words
inline constexpr std::size_t kMaxEmbeddedBytes = 2000;  // of each text; small models read no more

// The best of what a search by words found, nearest to the query's meaning first. The embedder's error when it has none to give.
Task<Result<std::vector<store::ChunkHit>>> by_meaning(Embedder& embedder, Scope scope, std::string query,
                                                      std::vector<store::ChunkHit> hits);

}  // namespace chela::memory
