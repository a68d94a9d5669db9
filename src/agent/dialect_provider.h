#pragma once

#include "llm/models.h"
#include "llm/provider.h"

namespace chela::agent {

// Makes any model one that is offered tools and calls them: a model without tools of its own is told of them in its prompt, and whatever the
// model writes is read as a turn reads it (thoughts are reasoning, calls in its text are calls). For callers that ask a model directly.
// Nothing of an answer is lost: what was meant as a call and cannot be read stays text. Lives on the loop; `inner` outlives it.
class DialectProvider final : public llm::Provider {
 public:
  DialectProvider(llm::Provider& inner, llm::ToolCalling calling) : inner_(inner), calling_(calling) {}

  Task<Result<llm::Answer>> complete(llm::Request request, llm::DeltaSink sink,
                                     std::optional<SteadyTime> deadline, std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  llm::Provider& inner_;
  const llm::ToolCalling calling_;
};

}  // namespace chela::agent
