#pragma once

#include <functional>
#include <memory>

#include "llm/decorators/manners.h"
#include "llm/retry.h"

namespace chela::llm {

// One provider with everything that stands before it, from the inside out: the adapter, its manners, what counts the attempts, repetitions. What happens across
// providers does not belong here.
class Chain {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    runtime::IdSource& ids;
    int max_retries = kMaxModelRetries;
    std::function<std::unique_ptr<Provider>(Provider& inner)> count = {};  // empty: nobody counts
  };

  Chain(std::unique_ptr<Provider> adapter, Quirks quirks, MannersProvider::Naming naming, Parts parts)
      : adapter_(std::move(adapter)),
        manners_(*adapter_, std::move(quirks), std::move(naming)),
        counted_(parts.count ? parts.count(manners_) : nullptr),
        retry_(counted_ ? *counted_ : static_cast<Provider&>(manners_), parts.loop, parts.ids,
               parts.max_retries) {}

  Provider& front() { return retry_; }

 private:
  std::unique_ptr<Provider> adapter_;
  MannersProvider manners_;
  std::unique_ptr<Provider> counted_;
  RetryProvider retry_;
};

}  // namespace chela::llm
