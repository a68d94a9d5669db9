#pragma once

#include "base/limits.h"
#include "llm/provider.h"
#include "runtime/event_loop.h"
#include "runtime/id_source.h"

namespace chela::llm {

// Repeats calls that failed for a passing reason: rate limits, the provider's own failures, an unreachable or silent server. Waits
// kRetryBase * 2^n with a quarter of jitter either way, or as long as the provider asked for. Gives up at once, with the error as
// it came, when text has been passed on, when the wait would pass the deadline or kRetryCeiling, or when the error's detail
// "retry" is "no".
class RetryProvider final : public Provider {
 public:
  RetryProvider(Provider& inner, runtime::EventLoop& loop, runtime::IdSource& ids,
                int max_retries = kMaxModelRetries)
      : inner_(inner), loop_(loop), ids_(ids), max_retries_(max_retries) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  // How long to wait before the next attempt; nothing when there is to be none.
  std::optional<std::chrono::milliseconds> pause(const Error& error, int failures,
                                                 std::optional<SteadyTime> deadline);

  Provider& inner_;
  runtime::EventLoop& loop_;
  runtime::IdSource& ids_;
  int max_retries_;
};

}  // namespace chela::llm
