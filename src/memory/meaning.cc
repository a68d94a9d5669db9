#include "memory/meaning.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/utf8.h"

namespace chela::memory {
namespace {

double likeness(const Embedding& a, const Embedding& b) {
  const double lengths = std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0) *
                                   std::inner_product(b.begin(), b.end(), b.begin(), 0.0));
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / lengths;
}

}  // namespace

Task<Result<std::vector<store::ChunkHit>>> by_meaning(Embedder& embedder, Scope scope, std::string query,
                                                      std::vector<store::ChunkHit> hits) {
  if (hits.size() > kMaxRankedHits) hits.resize(kMaxRankedHits);
  std::vector<std::string> texts{std::string(utf8::prefix(query, kMaxEmbeddedBytes))};
  for (const store::ChunkHit& hit : hits) texts.emplace_back(utf8::prefix(hit.content, kMaxEmbeddedBytes));
  const Result<std::vector<Embedding>> vectors = co_await embedder.embed(std::move(scope), std::move(texts));
  if (!vectors) co_return fail(vectors.error());
  std::vector<std::pair<double, std::size_t>>
      order;  // of those that are as near as each other the better by words is first
  for (std::size_t i = 0; i < hits.size(); ++i)
    order.emplace_back(-likeness(vectors->front(), (*vectors)[i + 1]), i);
  std::ranges::sort(order);
  std::vector<store::ChunkHit> ranked;
  for (const auto& [distance, i] : order) {
    ranked.push_back(std::move(hits[i]));
    ranked.back().rank = -distance;
  }
  co_return ranked;
}

}  // namespace chela::memory
