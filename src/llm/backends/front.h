#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "config/settings.h"
#include "llm/backends/backends.h"
#include "llm/backends/fail_over.h"

namespace chela::llm {

// Asks the provider that the request's model leads to, and says whose answer it is.
class ByName final : public Provider {
 public:
  explicit ByName(Backends& backends) : backends_(backends) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  Backends& backends_;
};

// What stands before all providers, the one place where it is put together; what stands before one of them is its Chain. From the inside out:
// the provider of the model's name, fail-over to other models. Each is a Provider over the one before, and all of them see every call.
// Owned by app/; lives on the loop; outlived by the backends.
class Front {
 public:
  Front(Backends& backends, const config::LlmSettings& llm, const runtime::EventLoop& loop);
  ~Front();

  // What of the settings counts at once.
  void configure(const config::LlmSettings& llm);

  // What is asked for a model, "" being the default one. Its models() are those of the model's own provider.
  Provider& provider_for(std::string_view model);

 private:
  class Entrance;

  Backends& backends_;
  ByName by_name_;
  FailOver fail_over_;
  Provider& outermost_;
  std::map<const Provider*, std::unique_ptr<Entrance>> entrances_;  // by the chain whose models they list
};

}  // namespace chela::llm
