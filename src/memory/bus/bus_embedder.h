#pragma once

#include <chrono>
#include <cstddef>

#include "bus/bus.h"
#include "memory/embedder.h"

namespace chela::memory {

inline constexpr auto kEmbedTime = std::chrono::seconds(5);  // after it a search goes by words alone
inline constexpr int kEmbedAttempts = 3;                     // while workers die over it and others are there
inline constexpr std::size_t kMaxDimensions = 8192;

// The function `embedding::generate` of a worker, while there is one that may replace it: gets {batch: [text]} and answers with
// {embeddings: [[number]]}. A worker that dies over it has the next one asked. Loop thread only.
class BusEmbedder final : public Embedder {
 public:
  explicit BusEmbedder(bus::Bus& bus) : bus_(bus) {}

  bool ready(const Scope& scope) const override;
  Task<Result<std::vector<Embedding>>> embed(Scope scope, std::vector<std::string> texts) override;

 private:
  op::CallContext context(const Scope& scope) const;

  bus::Bus& bus_;
};

// `count` vectors of one length that a worker answered with; kUpstream when it did not.
Result<std::vector<Embedding>> embeddings_from_json(const json::Value& value, std::size_t count);

}  // namespace chela::memory
