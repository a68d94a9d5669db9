#pragma once

#include "llm/budget/budget.h"
#include "llm/embeddings.h"

namespace chela::llm::budget {

// Embeddings that are reserved before they are asked for and settled after, as calls of models are.
class BudgetEmbeddings final : public EmbeddingProvider {
 public:
  BudgetEmbeddings(EmbeddingProvider& inner, Budget& budget) : inner_(inner), budget_(budget) {}

  // Whoever does not tell how many tokens there were is told for with an estimate.
  Task<Result<Embeddings>> embed(EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                 std::stop_token stop) override;

 private:
  EmbeddingProvider& inner_;
  Budget& budget_;
};

}  // namespace chela::llm::budget
