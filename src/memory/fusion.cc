#include "memory/fusion.h"

#include <algorithm>
#include <map>

namespace chela::memory {

std::vector<SearchResult> fuse(std::vector<std::vector<store::ChunkHit>> rankings, std::size_t limit) {
  struct Fused {
    store::ChunkHit hit;
    std::size_t order;  // as the rankings named them
    double score = 0;
  };
  std::map<std::pair<std::string, std::int64_t>, Fused> chunks;
  for (std::vector<store::ChunkHit>& ranking : rankings) {
    for (std::size_t rank = 0; rank < ranking.size(); ++rank) {
      store::ChunkHit& hit = ranking[rank];
      const std::size_t order = chunks.size();
      Fused& fused =
          chunks.try_emplace({hit.document_id, hit.chunk_index}, Fused{std::move(hit), order}).first->second;
      fused.score += 1 / (kFusionDamping + static_cast<double>(rank + 1));
    }
  }
  std::vector<Fused*> sorted;
  for (auto& [key, fused] : chunks) sorted.push_back(&fused);
  std::sort(sorted.begin(), sorted.end(), [](const Fused* a, const Fused* b) {
    return a->score != b->score ? a->score > b->score : a->order < b->order;
  });
  if (sorted.size() > limit) sorted.resize(limit);
  std::vector<SearchResult> results;
  for (Fused* each : sorted) {
    results.push_back({std::move(each->hit.document_id), std::move(each->hit.path),
                       std::move(each->hit.content), each->score / sorted.front()->score});
  }
  return results;
}

}  // namespace chela::memory
