#include "llm/decorators/circuit_breaker.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "llm/limits.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"
#include "testing/played_provider.h"

namespace chela::llm {
namespace {

using testing::Play;
using State = CircuitBreaker::State;

constexpr int kThreshold = 3;
constexpr auto kRecovery = 30s;

Play failing(Code code) { return {.error = Error{.code = code, .message = "no"}}; }
Play fine() { return {.answer = {.text = "fine"}}; }

class Breaker : public ::testing::Test {
 protected:
  Result<Answer> ask(std::optional<SteadyTime> deadline = std::nullopt, std::stop_token stop = {}) {
    return runtime::block_on(loop, breaker.complete(Request{.model = "m"}, {}, deadline, stop));
  }
  void open() {
    inner.plays = {failing(Code::kUpstream)};
    for (int n = 0; n < kThreshold; ++n) EXPECT_EQ(ask().error().code, Code::kUpstream);
    EXPECT_EQ(breaker.state(), State::kOpen);
  }
  size_t calls() const { return inner.requests.size(); }

  testing::ManualLoop loop;
  testing::PlayedProvider inner{loop};
  CircuitBreaker breaker{inner, "acme", loop, {.threshold = kThreshold, .recovery = kRecovery}};
};

TEST_F(Breaker, OpensAfterSoManyFailuresInARowAndRefusesAtOnce) {
  inner.plays = {failing(Code::kUpstream),    failing(Code::kTimeout),     fine(),
                 failing(Code::kRateLimited), failing(Code::kUnavailable), failing(Code::kUpstream)};
  for (int n = 0; n < 5; ++n) (void)ask();
  EXPECT_EQ(breaker.state(), State::kClosed) << "a success begins the count anew";
  EXPECT_EQ(ask().error().code, Code::kUpstream);
  EXPECT_EQ(breaker.state(), State::kOpen);
  loop.advance(10s);
  const size_t before = calls();
  const Result<Answer> refused = ask();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().detail("reason"), "circuit_open");
  EXPECT_EQ(refused.error().detail("retry"), "no");
  EXPECT_EQ(refused.error().retry_after, 20s);
  EXPECT_EQ(refused.error().message,
            "acme has failed 3 times in a row and is left alone for 20 s more; then it is tried again. Next "
            "step: wait, or use another model");
  EXPECT_EQ(calls(), before);
}

TEST_F(Breaker, WhatARequestOrAKeyIsToBlameForNeverOpensIt) {
  for (const Code code : {Code::kInvalidArgument, Code::kUnauthenticated, Code::kPermissionDenied,
                          Code::kNotFound, Code::kTooLarge, Code::kBudgetExceeded, Code::kCancelled}) {
    inner.plays = {failing(code)};
    for (int n = 0; n < 2 * kThreshold; ++n) EXPECT_EQ(ask().error().code, code);
    EXPECT_EQ(breaker.state(), State::kClosed) << code_name(code);
  }
  inner.plays = {failing(Code::kInvalidArgument)};
  inner.plays[0].error->with("reason", "context_length");
  for (int n = 0; n < 2 * kThreshold; ++n) (void)ask();
  inner.plays = {failing(Code::kUnavailable)};
  inner.plays[0].error->with("reason", "key_missing").with("retry", "no");
  for (int n = 0; n < 2 * kThreshold; ++n) (void)ask();
  EXPECT_EQ(breaker.state(), State::kClosed);
}

TEST_F(Breaker, AfterTheWaitSoManySuccessesCloseIt) {
  open();
  loop.advance(kRecovery);
  inner.plays = {fine()};
  for (int n = 1; n < kBreakerProbes; ++n) {
    EXPECT_TRUE(ask());
    EXPECT_EQ(breaker.state(), State::kHalfOpen);
  }
  EXPECT_TRUE(ask());
  EXPECT_EQ(breaker.state(), State::kClosed);
}

TEST_F(Breaker, AFailedProbeBeginsTheWaitAnew) {
  open();
  loop.advance(kRecovery);
  EXPECT_EQ(ask().error().code, Code::kUpstream);
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(ask().error().retry_after, kRecovery);
  // One that says nothing of the provider leaves the place to the next.
  loop.advance(kRecovery);
  inner.plays = {failing(Code::kInvalidArgument), fine()};
  EXPECT_EQ(ask().error().code, Code::kInvalidArgument);
  EXPECT_EQ(breaker.state(), State::kHalfOpen);
  for (int n = 0; n < kBreakerProbes; ++n) EXPECT_TRUE(ask());
  EXPECT_EQ(breaker.state(), State::kClosed);
}

TEST_F(Breaker, OneProbeAtATime) {
  open();
  loop.advance(kRecovery);
  inner.plays = {{.takes = 5s, .answer = {.text = "slow"}}};
  const size_t before = calls();
  runtime::TaskGroup group(loop);
  Result<Answer> slow = fail(Code::kInternal, "not yet");
  const auto probe = [](CircuitBreaker& of, Result<Answer>& out, std::stop_token stop) -> Task<> {
    out = co_await of.complete(Request{.model = "m"}, {}, std::nullopt, stop);
  };
  std::stop_source stop;
  group.spawn(probe(breaker, slow, stop.get_token()));
  loop.run_ready();
  ASSERT_EQ(calls(), before + 1);
  const Result<Answer> second = ask();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().detail("reason"), "circuit_open");
  EXPECT_EQ(second.error().retry_after, kRetryBase);
  EXPECT_EQ(calls(), before + 1);
  // A probe that is cancelled gives its place back.
  stop.request_stop();
  runtime::block_on(loop, group.join());
  EXPECT_EQ(slow.error().code, Code::kCancelled);
  EXPECT_TRUE(ask());
}

TEST_F(Breaker, WhatBeganBeforeItOpenedSaysNothingOfNow) {
  inner.plays = {{.error = Error{.code = Code::kUpstream, .message = "late"}, .takes = 29s},
                 failing(Code::kUpstream)};
  runtime::TaskGroup group(loop);
  Result<Answer> late = fail(Code::kInternal, "not yet");
  const auto early = [](CircuitBreaker& of, Result<Answer>& out) -> Task<> {
    out = co_await of.complete(Request{.model = "m"}, {}, std::nullopt, {});
  };
  group.spawn(early(breaker, late));
  loop.run_ready();
  open();
  runtime::block_on(loop, group.join());
  EXPECT_EQ(late.error().message, "late");
  EXPECT_EQ(ask().error().retry_after, kRecovery - 29s) << "the wait did not begin anew";
}

TEST_F(Breaker, ACallerThatGivesLittleTimeSaysNothingOfTheProvider) {
  inner.plays = {{.error = Error{.code = Code::kTimeout, .message = "late"}, .takes = 1s}};
  for (int n = 0; n < 2 * kThreshold; ++n)
    EXPECT_EQ(ask(loop.clock().steady() + 1s).error().code, Code::kTimeout);
  EXPECT_EQ(breaker.state(), State::kClosed);
}

TEST_F(Breaker, WithoutAThresholdEveryCallIsLetThrough) {
  CircuitBreaker none(inner, "acme", loop, {.threshold = 0, .recovery = kRecovery});
  inner.plays = {failing(Code::kUpstream)};
  for (int n = 0; n < 20; ++n) {
    EXPECT_FALSE(runtime::block_on(loop, none.complete(Request{.model = "m"}, {}, std::nullopt, {})));
  }
  EXPECT_EQ(calls(), 20u);
  EXPECT_EQ(none.state(), State::kClosed);
}

}  // namespace
}  // namespace chela::llm
