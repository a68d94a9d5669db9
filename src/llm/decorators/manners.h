#pragma once

#include <functional>
#include <string>

#include "llm/provider.h"
#include "llm/providers.h"

namespace chela::llm {

// Makes a request what one provider accepts, and its answer what was asked for: the model by the provider's own name, no parameters that
// it refuses, tools by names and schemas that it takes, calls by ids that it takes. Owned by the chain of its provider; lives on the loop.
class MannersProvider final : public Provider {
 public:
  // The provider's own name of a model.
  using Naming = std::function<std::string(const std::string& model)>;

  MannersProvider(Provider& inner, Quirks quirks, Naming naming)
      : inner_(inner), quirks_(std::move(quirks)), naming_(std::move(naming)) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  Provider& inner_;
  Quirks quirks_;
  Naming naming_;
};

// Leaves the parameters out, wherever the request has them.
void leave_out(Request& request, const std::vector<std::string>& params);
// One message for each run of user or of assistant messages. Tool messages stay as they are.
std::vector<Message> alternating(std::vector<Message> messages);

}  // namespace chela::llm
