#pragma once

#include <functional>
#include <memory>

#include "llm/backends/provider_keys.h"
#include "llm/provider.h"

namespace chela::llm {

// A provider that is made when it is first asked, and again when a key has changed: a person who adds one need not start again. A call
// that runs keeps the one it began with.
class KeyedProvider final : public Provider {
 public:
  using Make = std::function<Task<Result<std::unique_ptr<Provider>>>()>;

  KeyedProvider(Make make, const ProviderKeys& keys) : make_(std::move(make)), keys_(keys) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  Task<Result<std::shared_ptr<Provider>>> current();

  Make make_;
  const ProviderKeys& keys_;
  std::shared_ptr<Provider> made_;
  std::uint64_t made_at_ = 0;  // how many changes of keys there had been
};

}  // namespace chela::llm
