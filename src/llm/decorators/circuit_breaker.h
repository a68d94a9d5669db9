#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "llm/provider.h"
#include "runtime/event_loop.h"

namespace chela::llm {

// How often a provider may fail before it is left alone, and for how long.
struct BreakerLimits {
  int threshold = 0;  // failed calls one after the other; 0: it is never left alone
  std::chrono::milliseconds recovery{};
};

// Keeps calls from a provider that fails: after `threshold` failures in a row it refuses them at once for the time of `recovery`, then lets
// one at a time through, and all of them again after kBreakerProbes of those have succeeded. One that fails begins the wait anew. Only
// what passes by itself counts: rate limits, failures of the server, silence, an unreachable server. What a request or a key is
// to blame for neither opens it nor closes it, nor does a call that was cancelled. A refusal is kUnavailable with reason "circuit_open".
// Owned by the chain of its provider; lives on the loop.
class CircuitBreaker final : public Provider {
 public:
  CircuitBreaker(Provider& inner, std::string name, const runtime::EventLoop& loop, BreakerLimits limits)
      : inner_(inner), name_(std::move(name)), loop_(loop), limits_(limits) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override {
    return inner_.models(std::move(stop));
  }

  enum class State { kClosed, kOpen, kHalfOpen };
  State state() const { return state_; }

 private:
  class Probe;
  std::optional<Error> refusal();
  void enter(State state);
  void succeeded();
  void failed(const Error& error);

  Provider& inner_;
  const std::string name_;
  const runtime::EventLoop& loop_;
  const BreakerLimits limits_;
  State state_ = State::kClosed;
  std::uint64_t era_ = 0;  // grows with each change of the state: what began before it says nothing of now
  int failures_ = 0;
  int successes_ = 0;
  bool probing_ = false;
  SteadyTime until_{};  // of kOpen
};

}  // namespace chela::llm
