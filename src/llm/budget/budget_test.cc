#include "llm/budget/budget.h"

#include <gtest/gtest.h>

#include <deque>

#include "llm/budget/budget_provider.h"
#include "runtime/sleep.h"
#include "store/sqlite/database.h"
#include "testing/manual_loop.h"

namespace chela::llm::budget {
namespace {

using std::chrono::milliseconds;

constexpr Nano kCent = config::kNanoPerCent;

// Takes a while, then says what it was told to.
class Upstream final : public Provider {
 public:
  explicit Upstream(runtime::EventLoop& loop) : loop_(loop) {}
  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime>,
                                std::stop_token stop) override {
    requests.push_back(std::move(request));
    sink({.text = streamed});
    const Result<> slept = co_await runtime::sleep_for(loop_, takes, std::move(stop));
    if (!slept) co_return fail(slept.error());
    if (error) co_return fail(*error);
    co_return Answer{.text = "fine", .usage = usage};
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"m"};
  }

  std::vector<Request> requests;
  std::string streamed;
  Usage usage{.input_tokens = 100, .output_tokens = 100};
  std::optional<Error> error;
  milliseconds takes{100};

 private:
  runtime::EventLoop& loop_;
};

// Fails where it is told to.
class BrokenStore final : public store::BudgetStore {
 public:
  explicit BrokenStore(store::BudgetStore& inner) : inner_(inner) {}
  Task<Result<bool>> begin() override { return inner_.begin(); }
  Task<Result<>> end() override { return inner_.end(); }
  Task<Result<>> reserve(store::BudgetCall call) override {
    return reserves ? inner_.reserve(std::move(call)) : full();
  }
  Task<Result<>> settle(store::BudgetSettlement settlement) override {
    return inner_.settle(std::move(settlement));
  }
  void commit_soon() override { inner_.commit_soon(); }
  Task<Result<std::vector<store::BudgetCall>>> open_calls() override { return inner_.open_calls(); }
  Task<Result<std::vector<store::BudgetSum>>> sums(UnixMs from) override {
    return reads ? inner_.sums(from) : unreadable();
  }
  Task<Result<std::vector<store::BudgetSum>>> begun(UnixMs from) override { return inner_.begun(from); }
  Task<Result<>> forget(UnixMs before) override { return inner_.forget(before); }
  Task<Result<std::vector<store::BudgetUsage>>> usage(Scope scope, UnixMs from) override {
    return inner_.usage(std::move(scope), from);
  }

  bool reserves = true;
  bool reads = true;

 private:
  static Task<Result<>> full() { co_return fail(Code::kUnavailable, "the disk is full"); }
  static Task<Result<std::vector<store::BudgetSum>>> unreadable() {
    co_return fail(Code::kUnavailable, "the disk is broken");
  }
  store::BudgetStore& inner_;
};

class BudgetTest : public ::testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override { stop(); }

  // A dollar for a thousand tokens, "free" costs nothing, of "new" nobody knows.
  static ModelInfo info(std::string_view model) {
    ModelInfo known{.id = std::string(model)};
    if (model == "m") known.price = Price{.input = 1000, .output = 1000, .cached_input = 1000};
    if (model == "short") known.price = Price{.input = 1, .output = 1}, known.max_output_tokens = 4096;
    if (model == "thinker") {
      known.price = Price{.input = 1, .output = 1};
      known.max_output_tokens = 64'000;
      known.reasons = true;
    }
    if (model == "free") known.price = Price{};
    return known;
  }

  void start() {
    budget_ = std::make_unique<Budget>(
        Budget::Parts{
            .loop = loop_, .ids = ids_, .store = broken_, .metrics = metrics_, .model = &BudgetTest::info},
        settings_);
    provider_ = std::make_unique<BudgetProvider>(upstream_, *budget_);
  }
  void stop() {
    runtime::block_on(loop_, budget_->stop());
    provider_.reset();
    budget_.reset();
  }
  void limit(std::vector<std::string> rules) {
    settings_.rules.clear();
    for (const std::string& each : rules) settings_.rules.push_back(*config::parse_budget_rule(each));
    budget_->configure(settings_);
  }
  Request request(std::string model = "m", std::int64_t max_tokens = 500) {
    Request made{.model = std::move(model), .messages = {{.content = "hi"}}};
    if (max_tokens > 0) made.sampling.max_tokens = max_tokens;
    made.caller = {.scope = {.realm = "r", .user = "u", .agent = "a"},
                   .thread = "t",
                   .channel = "c",
                   .warn = [this](const json::Value& each) { warnings_.push_back(each.string_or("limit")); }};
    return made;
  }
  Task<Result<Answer>> call(Request made, std::stop_token stop = {}) {
    return provider_->complete(std::move(made), [](const Delta&) {}, std::nullopt, std::move(stop));
  }
  Result<Answer> run(Request made, std::stop_token stop = {}) {
    return runtime::block_on(loop_, call(std::move(made), std::move(stop)));
  }
  Standing standing() {
    return runtime::block_on(loop_, budget_->standing({.realm = "r", .user = "u", .agent = "a"}))->at(0);
  }

  testing::ManualLoop loop_;
  testing::CountingIds ids_;
  obs::Metrics metrics_;
  std::unique_ptr<store::sqlite::Database> database_ = *store::sqlite::Database::open_in_memory(loop_);
  BrokenStore broken_{database_->budget()};
  config::BudgetSettings settings_{.warn_percent = 80, .timezone = "UTC"};
  Upstream upstream_{loop_};
  std::unique_ptr<Budget> budget_;
  std::unique_ptr<BudgetProvider> provider_;
  std::vector<std::string> warnings_;
};

TEST_F(BudgetTest, WithoutLimitsCallsAreCountedAndLeftAsTheyAre) {
  ASSERT_TRUE(run(request("m", 0)));
  EXPECT_FALSE(upstream_.requests[0].sampling.max_tokens);
  loop_.advance(milliseconds(100));
  const auto used = *runtime::block_on(loop_, budget_->usage({.realm = "r", .user = "u", .agent = ""}, 1));
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0].cost, 20 * kCent);
  EXPECT_EQ(used[0].input_tokens, 100);
  EXPECT_EQ(used[0].agent, "a");
}

TEST_F(BudgetTest, AThousandCallsAtOnceNeverPassTheLimit) {
  limit({"all day 1000"});
  upstream_.usage = {.input_tokens = 80, .output_tokens = 500};
  std::vector<Task<Result<Answer>>> calls;
  for (int n = 0; n < 1000; ++n) calls.push_back(call(request()));
  const std::vector<Result<Answer>> answers =
      runtime::block_on(loop_, runtime::gather(loop_, std::move(calls)));
  size_t good = 0;
  for (const Result<Answer>& each : answers) {
    good += each.has_value();
    if (!each) EXPECT_EQ(each.error().code, Code::kBudgetExceeded);
  }
  EXPECT_EQ(upstream_.requests.size(), good) << "what is refused is not asked";
  EXPECT_GE(good, 10u);
  EXPECT_LE(good, 17u);
  EXPECT_LE(standing().spent, 1000 * kCent);
  EXPECT_EQ(standing().spent, static_cast<Nano>(good) * 58 * kCent);
  EXPECT_EQ(standing().reserved, 0);
}

TEST_F(BudgetTest, AnAnswerThatNobodyLimitedIsLimitedByWhatIsLeft) {
  limit({"all day 100"});
  ASSERT_TRUE(run(request("m", 0)));
  ASSERT_TRUE(upstream_.requests[0].sampling.max_tokens);
  EXPECT_LT(*upstream_.requests[0].sampling.max_tokens, 1000);
  EXPECT_GT(*upstream_.requests[0].sampling.max_tokens, 700);
}

TEST_F(BudgetTest, AnAssumedAnswerIsNoLongerThanTheModelsLongest) {
  limit({"all day 10000000"});
  const auto sent = [this](std::string model, std::string effort) {
    Request made = request(std::move(model), 0);
    made.sampling.reasoning_effort = std::move(effort);
    EXPECT_TRUE(run(std::move(made)));
    return upstream_.requests.back().sampling.max_tokens;
  };
  EXPECT_EQ(sent("m", ""), kAssumedAnswerTokens);
  EXPECT_EQ(sent("short", ""), 4096);
  EXPECT_EQ(sent("thinker", ""), kAssumedAnswerTokens);
  EXPECT_EQ(sent("thinker", "none"), kAssumedAnswerTokens);
  EXPECT_EQ(sent("thinker", "high"), kAssumedAnswerTokens + kAssumedThoughtTokens)
      << "thoughts are reserved, too";
}

TEST_F(BudgetTest, FailuresCostWhatTheProviderMayCharge) {
  limit({"all day 100000"});
  upstream_.error = Error{.code = Code::kRateLimited, .message = "no"};
  upstream_.error->with("status", "429");
  EXPECT_FALSE(run(request()));
  upstream_.error = Error{.code = Code::kUnavailable, .message = "nobody there"};
  EXPECT_FALSE(run(request()));
  EXPECT_EQ(standing().spent, 0);
  EXPECT_EQ(standing().reserved, 0);
  // Cut in the middle: the prompt at its most, and what came.
  upstream_.error = Error{.code = Code::kUpstream, .message = "cut"};
  upstream_.streamed = std::string(3000, 'x');
  EXPECT_FALSE(run(request("m", 2000)));
  Nano cut = standing().spent;
  EXPECT_GT(cut, 100 * kCent);
  EXPECT_LT(cut, 120 * kCent);
  // An error in mid stream has a status, and arguments of calls are no deltas: it is charged all the same.
  upstream_.error = Error{.code = Code::kUpstream, .message = "overloaded"};
  upstream_.error->with("status", "529").with("said_bytes", "3000");
  upstream_.streamed.clear();
  EXPECT_FALSE(run(request("m", 2000)));
  EXPECT_EQ(standing().spent, 2 * cut);
  upstream_.error = Error{.code = Code::kUpstream, .message = "cut"};
  cut = standing().spent;
  // Interrupted while it was silent: the prompt alone.
  upstream_.streamed.clear();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(run(request(), stop.get_token()));
  EXPECT_EQ(standing().spent, cut) << "it never left";
  // An answer without usage.
  upstream_.error.reset();
  upstream_.usage = {};
  EXPECT_TRUE(run(request()));
  EXPECT_GT(standing().spent, cut);
}

TEST_F(BudgetTest, PeopleAreWarnedOnceAndCallsOfAnHourCount) {
  limit({"all day 50", "agent:a hour 2"});
  upstream_.usage = {.input_tokens = 200, .output_tokens = 200};
  ASSERT_TRUE(run(request("m", 200)));
  EXPECT_EQ(warnings_, std::vector<std::string>{"all day"});
  ASSERT_TRUE(run(request("free")));
  EXPECT_EQ(warnings_.size(), 2u) << "the second call of two";
  const Result<Answer> third = run(request("free"));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().detail("limit"), "agent:a hour");
  loop_.advance(std::chrono::hours(1));
  EXPECT_TRUE(run(request("free")));
}

TEST_F(BudgetTest, WhatWasSpentIsKnownAfterARestartAndForOtherLimits) {
  ASSERT_TRUE(run(request()));
  limit({"all day 100", "session:t month 100", "agent:a hour 1"});
  EXPECT_EQ(standing().spent, 20 * kCent) << "spent before there was a limit";
  stop();
  start();
  const std::vector<Standing> all =
      *runtime::block_on(loop_, budget_->standing({.realm = "r", .user = "u", .agent = "a", .session = "t"}));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].spent, 20 * kCent);
  EXPECT_EQ(all[0].left, 80 * kCent) << "it ended well: nothing is held back";
  EXPECT_EQ(all[1].spent, 20 * kCent);
  EXPECT_EQ(all[2].left, 0);
}

TEST_F(BudgetTest, ServersThatTellOfAbsurdCountsStopNobodyButTheirCallers) {
  upstream_.usage = {.input_tokens = std::numeric_limits<std::int64_t>::max(),
                     .output_tokens = std::numeric_limits<std::int64_t>::max()};
  for (int n = 0; n < 12; ++n) ASSERT_TRUE(run(request()));
  limit({"all day 100000000"});
  EXPECT_EQ(standing().spent, 12 * store::kMaxBudgetAmount);
  stop();
  start();
  upstream_.usage = {.input_tokens = 10, .output_tokens = 10};
  EXPECT_TRUE(run(request("m", 10)));
  EXPECT_TRUE(runtime::block_on(loop_, budget_->usage({.realm = "r", .user = "u", .agent = ""}, 1)));
}

TEST_F(BudgetTest, ACallThatWasOpenWhenTheEngineDiedCountsAsSpentUntilItExpires) {
  limit({"all day 200"});
  // What an engine that was killed leaves: it counted, and one call was under way.
  store::BudgetStore& store = database_->budget();
  ASSERT_TRUE(runtime::block_on(loop_, store.begin()));
  ASSERT_TRUE(runtime::block_on(loop_, store.reserve({.id = "left",
                                                      .at = loop_.clock().now(),
                                                      .accounts = {.realm = "r"},
                                                      .model = "m",
                                                      .reserved = 100 * kCent,
                                                      .prompt_cost = 10 * kCent})));
  EXPECT_EQ(standing().reserved, 140 * kCent) << "the call, and a fifth that may have been lost";
  EXPECT_FALSE(run(request("m", 600)));
  loop_.advance(std::chrono::milliseconds(kReservationLife));
  EXPECT_TRUE(run(request("m", 600)));
  EXPECT_EQ(standing().spent, 30 * kCent);
  EXPECT_EQ(standing().reserved, 0);
  loop_.advance(milliseconds(100));
  EXPECT_TRUE(runtime::block_on(loop_, store.open_calls())->empty());
}

TEST_F(BudgetTest, LimitsThatChangeWhileCallsRunLoseNothing) {
  std::vector<Task<Result<Answer>>> calls;
  for (int n = 0; n < 3; ++n) calls.push_back(call(request()));
  // They end while what was spent is read again.
  loop_.call_at(loop_.clock().steady() + milliseconds(100), [this] { limit({"all day 100"}); });
  runtime::block_on(loop_, runtime::gather(loop_, std::move(calls)));
  EXPECT_EQ(standing().spent, 60 * kCent);
  EXPECT_EQ(standing().reserved, 0);
}

TEST_F(BudgetTest, WhatCallsHaveCostIsRecordedThoughNothingCouldBeReadAnyMore) {
  // The call ends while what was spent is read again, which fails.
  loop_.call_at(loop_.clock().steady() + milliseconds(50), [this] {
    broken_.reads = false;
    limit({"all day 100"});
  });
  ASSERT_TRUE(run(request()));
  stop();
  broken_.reads = true;
  EXPECT_TRUE(runtime::block_on(loop_, database_->budget().open_calls())->empty());
  start();
  EXPECT_EQ(standing().spent, 20 * kCent);
  EXPECT_EQ(standing().left, 80 * kCent) << "it ended well";
}

TEST_F(BudgetTest, AnEngineThatCouldNotRecordACallHasNotEndedWell) {
  limit({"all day 1000"});
  ASSERT_TRUE(run(request("m", 10)));
  broken_.reserves = false;
  ASSERT_TRUE(run(request("m", 10))) << "small for its limit: nobody waits for the disk";
  stop();
  broken_.reserves = true;
  start();
  EXPECT_EQ(standing().reserved, 200 * kCent) << "a fifth may be missing";
}

TEST_F(BudgetTest, OldCallsAreForgotten) {
  store::BudgetStore& store = database_->budget();
  const UnixMs oldest = loop_.clock().now() - std::chrono::milliseconds(kKeepCalls).count();
  for (const UnixMs at : {oldest - 1, oldest}) {
    ASSERT_TRUE(runtime::block_on(
        loop_, store.reserve({.id = std::to_string(at), .at = at, .accounts = {}, .model = "m"})));
    ASSERT_TRUE(runtime::block_on(loop_, store.settle({.id = std::to_string(at)})));
  }
  stop();
  start();
  budget_->start();
  ASSERT_TRUE(runtime::block_on(loop_, budget_->standing({})));
  stop();
  const auto kept = *runtime::block_on(loop_, store.begun(0));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].at, oldest);
  start();
}

TEST_F(BudgetTest, AModelWithoutAPriceCountsAsCallsOrIsRefused) {
  limit({"all day 0", "all hour 100"});
  EXPECT_TRUE(run(request("new")));
  EXPECT_TRUE(run(request("free")));
  EXPECT_FALSE(run(request("m")));
  settings_.unpriced = config::BudgetSettings::Unpriced::kRefuse;
  budget_->configure(settings_);
  const Result<Answer> refused = run(request("new"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail("limit"), "unpriced");
  EXPECT_TRUE(run(request("free")));
  // Told once each, of so many.
  settings_.unpriced = config::BudgetSettings::Unpriced::kAllow;
  settings_.rules.pop_back();
  budget_->configure(settings_);
  for (size_t n = 0; n <= kMaxUnpricedModels; ++n) EXPECT_TRUE(run(request("new" + std::to_string(n))));
}

}  // namespace
}  // namespace chela::llm::budget
