#pragma once

#include "llm/backends/backends.h"
#include "llm/embeddings.h"
#include "memory/embedder.h"

namespace chela::app {

// A model's own provider.
class OwnEmbeddings final : public llm::EmbeddingProvider {
 public:
  explicit OwnEmbeddings(llm::Backends& backends) : backends_(backends) {}
  Task<Result<llm::Embeddings>> embed(llm::EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                      std::stop_token stop) override {
    return backends_.embed(std::move(request), deadline, std::move(stop));
  }

 private:
  llm::Backends& backends_;
};

// The worker that stands in for it, while there is one for the caller. It makes vectors of its own length: a request that wants another
// is refused.
class WorkerEmbeddings final : public llm::EmbeddingProvider {
 public:
  explicit WorkerEmbeddings(memory::Embedder& worker) : worker_(worker) {}
  Task<Result<llm::Embeddings>> embed(llm::EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                      std::stop_token stop) override;

 private:
  memory::Embedder& worker_;
};

}  // namespace chela::app
