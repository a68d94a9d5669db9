#include "llm/decorators/circuit_breaker.h"

#include "base/limits.h"
#include "llm/failure.h"
#include "llm/limits.h"
#include "obs/log.h"

namespace chela::llm {
namespace {

using std::chrono::milliseconds;

Error refused(std::string message, milliseconds wait) {
  Error error{.code = Code::kUnavailable, .message = std::move(message), .retry_after = wait};
  error.with("reason", "circuit_open").with("retry", "no");
  return error;
}

}  // namespace

// The place of the one call that tries, given back however it ends.
class CircuitBreaker::Probe {
 public:
  explicit Probe(CircuitBreaker& of) : of_(of.state_ == State::kHalfOpen ? &of : nullptr) {
    if (of_ != nullptr) of_->probing_ = true;
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe() {
    if (of_ != nullptr) of_->probing_ = false;
  }

 private:
  CircuitBreaker* of_;
};

void CircuitBreaker::enter(State state) {
  state_ = state;
  ++era_;
  failures_ = 0;
  successes_ = 0;
}

std::optional<Error> CircuitBreaker::refusal() {
  const SteadyTime now = loop_.clock().steady();
  if (state_ == State::kOpen && now >= until_) enter(State::kHalfOpen);
  if (state_ == State::kOpen) {
    const auto left = std::chrono::ceil<milliseconds>(until_ - now);
    return refused(
        fmt::format("{} has failed {} times in a row and is left alone for {} s more; then it is "
                    "tried again. Next step: wait, or use another model",
                    name_, limits_.threshold, std::chrono::ceil<std::chrono::seconds>(left).count()),
        left);
  }
  if (state_ == State::kHalfOpen && probing_) {
    return refused(fmt::format("{} has failed before and is being tried with another call. Next step: wait a "
                               "moment, or use another model",
                               name_),
                   kRetryBase);
  }
  return std::nullopt;
}

void CircuitBreaker::succeeded() {
  failures_ = 0;
  if (state_ != State::kHalfOpen || ++successes_ < kBreakerProbes) return;
  enter(State::kClosed);
  log::info("llm", "the provider answers again", {{"provider", name_}});
}

void CircuitBreaker::failed(const Error& error) {
  ++failures_;
  if (state_ == State::kClosed && failures_ < limits_.threshold) return;
  enter(State::kOpen);
  until_ = loop_.clock().steady() + limits_.recovery;
  log::warn("llm", "the provider fails and is left alone",
            {{"provider", name_}, {"error", error.text()}, {"recovery_ms", limits_.recovery.count()}});
}

Task<Result<Answer>> CircuitBreaker::complete(Request request, DeltaSink sink,
                                              std::optional<SteadyTime> deadline, std::stop_token stop) {
  if (limits_.threshold <= 0)
    co_return co_await inner_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  if (std::optional<Error> no = refusal()) co_return fail(std::move(*no));
  const std::uint64_t era = era_;
  const Probe probe(*this);
  Result<Answer> answer =
      co_await inner_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  if (era != era_) co_return answer;
  // A caller that gives little time says nothing of the provider.
  const bool given_up = deadline && loop_.clock().steady() >= *deadline;
  if (answer) {
    succeeded();
  } else if (passes(answer.error()) && !given_up) {
    failed(answer.error());
  }
  co_return answer;
}

}  // namespace chela::llm
