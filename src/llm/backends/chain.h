#pragma once

#include <functional>
#include <memory>

#include "llm/decorators/circuit_breaker.h"
#include "llm/decorators/manners.h"
#include "llm/retry.h"

namespace chela::llm {

// One provider with everything that stands before it, from the inside out: the adapter, its manners, what counts the attempts, repetitions, and
// the breaker that leaves it alone while they do not help. What happens across providers stands in front.h.
class Chain {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    runtime::IdSource& ids;
    std::string name;  // the provider's, for people
    int max_retries = kMaxModelRetries;
    BreakerLimits breaker = {};
    std::function<std::unique_ptr<Provider>(Provider& inner)> count = {};  // empty: nobody counts
  };

  Chain(std::unique_ptr<Provider> adapter, Quirks quirks, MannersProvider::Naming naming, Parts parts)
      : adapter_(std::move(adapter)),
        manners_(*adapter_, std::move(quirks), std::move(naming)),
        counted_(parts.count ? parts.count(manners_) : nullptr),
        retry_(counted_ ? *counted_ : static_cast<Provider&>(manners_), parts.loop, parts.ids,
               parts.max_retries),
        breaker_(retry_, std::move(parts.name), parts.loop, parts.breaker) {}

  Provider& front() { return breaker_; }

 private:
  std::unique_ptr<Provider> adapter_;
  MannersProvider manners_;
  std::unique_ptr<Provider> counted_;
  RetryProvider retry_;
  CircuitBreaker breaker_;
};

}  // namespace chela::llm
