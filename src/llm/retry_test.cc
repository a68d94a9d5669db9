#include "llm/retry.h"

#include <gtest/gtest.h>

#include "runtime/sleep.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::llm {
namespace {

using std::chrono::milliseconds;
using testing::ManualLoop;

// Fails with the given errors in turn, then answers.
class FailingProvider final : public Provider {
 public:
  explicit FailingProvider(ManualLoop& loop) : loop_(loop) {}

  Task<Result<Answer>> complete(Request, DeltaSink sink, std::optional<SteadyTime>,
                                std::stop_token) override {
    called_at.push_back(std::chrono::duration_cast<milliseconds>(loop_.clock().steady().time_since_epoch()));
    if (!text_before_failure.empty()) sink(Delta{.text = text_before_failure});
    if (errors.empty()) co_return Answer{.text = "fine"};
    Error error = errors.front();
    errors.erase(errors.begin());
    co_return fail(std::move(error));
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"m"};
  }

  std::vector<Error> errors;
  std::string text_before_failure;
  std::vector<milliseconds> called_at;

 private:
  ManualLoop& loop_;
};

Error error_of(Code code) { return Error{.code = code, .message = "no"}; }

class Retry : public ::testing::Test {
 protected:
  Result<Answer> complete(std::optional<SteadyTime> deadline = std::nullopt, std::stop_token stop = {}) {
    return runtime::block_on(
        loop, retry.complete(
                  Request{.model = "m"}, [this](const Delta& d) { streamed += d.text; }, deadline, stop));
  }

  ManualLoop loop;
  testing::CountingIds ids;
  FailingProvider inner{loop};
  RetryProvider retry{inner, loop, ids};
  std::string streamed;
};

TEST_F(Retry, WaitsLongerEachTimeAndThenSucceeds) {
  inner.errors = {error_of(Code::kUpstream), error_of(Code::kUnavailable), error_of(Code::kTimeout)};
  const Result<Answer> answer = complete();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "fine");
  ASSERT_EQ(inner.called_at.size(), 4u);
  for (int n = 0; n < 3; ++n) {
    const milliseconds base = kRetryBase * (1 << n);
    const milliseconds waited = inner.called_at[n + 1] - inner.called_at[n];
    EXPECT_GE(waited, base * 3 / 4);
    EXPECT_LE(waited, base * 5 / 4);
  }
}

TEST_F(Retry, GivesUpAfterTheLastAttemptWithItsError) {
  inner.errors = std::vector<Error>(9, error_of(Code::kUpstream));
  const Result<Answer> answer = complete();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUpstream);
  EXPECT_EQ(answer.error().detail("attempts"), "4");
  EXPECT_EQ(inner.called_at.size(), 1u + kMaxModelRetries);
}

TEST_F(Retry, NeverRepeatsWhatCannotGetBetter) {
  for (const Code code : {Code::kInvalidArgument, Code::kUnauthenticated, Code::kPermissionDenied,
                          Code::kNotFound, Code::kTooLarge, Code::kCancelled, Code::kInternal}) {
    inner.called_at.clear();
    inner.errors = {error_of(code)};
    const Result<Answer> answer = complete();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, code);
    EXPECT_EQ(inner.called_at.size(), 1u);
  }
  inner.called_at.clear();
  inner.errors = {error_of(Code::kUnavailable).with("retry", "no")};
  EXPECT_FALSE(complete());
  EXPECT_EQ(inner.called_at.size(), 1u);
}

TEST_F(Retry, NeverRepeatsOnceTextWasPassedOn) {
  inner.text_before_failure = "Hel";
  inner.errors = {error_of(Code::kUpstream)};
  EXPECT_FALSE(complete());
  EXPECT_EQ(inner.called_at.size(), 1u);
  EXPECT_EQ(streamed, "Hel");
}

TEST_F(Retry, WaitsAsLongAsTheProviderAsks) {
  inner.errors = {error_of(Code::kRateLimited)};
  inner.errors[0].retry_after = 7s;
  ASSERT_TRUE(complete());
  EXPECT_EQ(inner.called_at[1] - inner.called_at[0], 7s);
}

TEST_F(Retry, AWaitPastTheDeadlineOrTheCeilingFailsAtOnce) {
  inner.errors = {error_of(Code::kRateLimited)};
  inner.errors[0].retry_after = 7s;
  Result<Answer> answer = complete(loop.clock().steady() + 5s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().retry_after, 7s);
  EXPECT_EQ(inner.called_at.size(), 1u);

  inner.errors = {error_of(Code::kRateLimited)};
  inner.errors[0].retry_after = kRetryCeiling + 1s;
  answer = complete();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().retry_after, kRetryCeiling + 1s);
  EXPECT_EQ(loop.clock().steady(), SteadyTime{});  // nobody waited
}

TEST_F(Retry, AStopEndsTheWaitAtOnce) {
  inner.errors = {error_of(Code::kUpstream)};
  std::stop_source stop;
  loop.call_at(loop.clock().steady() + 10ms, [&] { stop.request_stop(); });
  const Result<Answer> answer = complete(std::nullopt, stop.get_token());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kCancelled);
  EXPECT_EQ(loop.clock().steady(), SteadyTime{} + 10ms);
}

}  // namespace
}  // namespace chela::llm
