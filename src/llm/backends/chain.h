#pragma once

#include <memory>

#include "llm/decorators/manners.h"
#include "llm/retry.h"

namespace chela::llm {

// One provider with everything that stands before it, from the inside out: the adapter, its manners, repetitions. What happens across
// providers does not belong here.
class Chain {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    runtime::IdSource& ids;
    int max_retries = kMaxModelRetries;
  };

  Chain(std::unique_ptr<Provider> adapter, Quirks quirks, MannersProvider::Naming naming, Parts parts)
      : adapter_(std::move(adapter)),
        manners_(*adapter_, std::move(quirks), std::move(naming)),
        retry_(manners_, parts.loop, parts.ids, parts.max_retries) {}

  Provider& front() { return retry_; }

 private:
  std::unique_ptr<Provider> adapter_;
  MannersProvider manners_;
  RetryProvider retry_;
};

}  // namespace chela::llm
