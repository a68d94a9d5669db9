#pragma once

#include <cstddef>
#include <vector>

#include "memory/workspace.h"
#include "store/memory_store.h"

namespace chela::memory {

inline constexpr std::size_t kHitsPerMethod = 50;  // that a search method contributes
inline constexpr double kFusionDamping = 60;       // the k of reciprocal rank fusion

// Reciprocal rank fusion: a chunk scores the sum of 1 / (k + its rank) over the rankings it is in; then all are divided by the best. At
// most `limit`, best first; equal scores keep the order of the first ranking.
std::vector<SearchResult> fuse(std::vector<std::vector<store::ChunkHit>> rankings, std::size_t limit);

}  // namespace chela::memory
