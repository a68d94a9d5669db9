#pragma once

#include "llm/cache/response_cache.h"

namespace chela::llm::cache {

// Stands before a provider, outside of what counts its calls: an answer that was given before costs nothing. Loop thread only.
class CacheProvider final : public Provider {
 public:
  CacheProvider(Provider& inner, ResponseCache& cache) : inner_(inner), cache_(cache) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override {
    return inner_.models(std::move(stop));
  }

 private:
  Provider& inner_;
  ResponseCache& cache_;
};

}  // namespace chela::llm::cache
