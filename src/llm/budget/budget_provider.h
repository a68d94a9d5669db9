#pragma once

#include "llm/budget/budget.h"
#include "llm/provider.h"

namespace chela::llm::budget {

// Stands before a provider: each attempt of a call is reserved at its worst before it leaves, and settled with what the provider has counted.
// An answer that is cut is settled by an estimate, a call that was refused costs nothing. Loop thread only.
class BudgetProvider final : public Provider {
 public:
  BudgetProvider(Provider& inner, Budget& budget) : inner_(inner), budget_(budget) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override {
    return inner_.models(std::move(stop));
  }

 private:
  Provider& inner_;
  Budget& budget_;
};

}  // namespace chela::llm::budget
