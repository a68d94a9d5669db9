#pragma once

#include <limits>

#include "store/conformance.h"

namespace chela::store {

class BudgetConformance : public StoreConformance {
 protected:
  static constexpr UnixMs kQuarter = 900'000;
  BudgetStore& budget() { return stores_->budget(); }

  BudgetCall call(const Scope& scope, const std::string& id, UnixMs at) {
    return BudgetCall{.id = id,
                      .at = at,
                      .accounts = {.realm = scope.realm,
                                   .user = scope.user,
                                   .agent = scope.agent,
                                   .session = "t-1",
                                   .job = "j-1",
                                   .channel = "gateway",
                                   .key = "k-1"},
                      .model = "m",
                      .reserved = 9'000'000'000'000,
                      .prompt_cost = 7};
  }
};

TEST_P(BudgetConformance, AnOpenCallComesBackAsItWasWrittenUntilItIsSettled) {
  const BudgetCall second = call(ann_, "b", 20);
  ASSERT_TRUE(run(budget().reserve(second)));
  ASSERT_TRUE(run(budget().reserve(call(bob_, "a", 10))));
  std::vector<BudgetCall> open = *run(budget().open_calls());
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0].id, "a");
  EXPECT_EQ(open[1], second);
  EXPECT_TRUE(run(budget().sums(0))->empty()) << "what is open has cost nothing yet";
  ASSERT_TRUE(run(budget().settle({.id = "b", .cost = 5, .priced = true, .input_tokens = 1})));
  ASSERT_TRUE(run(budget().settle({.id = "b", .cost = 500, .priced = true}))) << "settled once only";
  ASSERT_TRUE(run(budget().settle({.id = "nobody", .cost = 5})));
  EXPECT_EQ(run(budget().open_calls())->size(), 1u);
  const std::vector<BudgetSum> sums = *run(budget().sums(0));
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].cost, 5);
  EXPECT_EQ(sums[0].accounts, second.accounts);
}

TEST_P(BudgetConformance, SumsAreOfAQuarterOfAnHour) {
  for (const UnixMs at : {4 * kQuarter, 5 * kQuarter - 1, 5 * kQuarter, 3 * kQuarter}) {
    const std::string id = std::to_string(at);
    ASSERT_TRUE(run(budget().reserve(call(ann_, id, at))));
    ASSERT_TRUE(run(budget().settle({.id = id, .cost = 10, .priced = true})));
  }
  const std::vector<BudgetSum> sums = *run(budget().sums(4 * kQuarter));
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0].at, 4 * kQuarter);
  EXPECT_EQ(sums[0].cost, 20);
  EXPECT_EQ(sums[1].cost, 10);
  const std::vector<BudgetSum> begun = *run(budget().begun(5 * kQuarter - 1));
  ASSERT_EQ(begun.size(), 2u);
  EXPECT_EQ(begun[0].at, 5 * kQuarter - 1);
}

TEST_P(BudgetConformance, UsageIsTheUsersOwnByAgentAndModel) {
  for (const Scope& scope : {ann_, ann_, ann_coder_, bob_, other_ann_}) {
    static int number = 0;
    const std::string id = "c" + std::to_string(++number);
    ASSERT_TRUE(run(budget().reserve(call(scope, id, 8 * kQuarter + number))));
    ASSERT_TRUE(run(budget().settle({.id = id,
                                     .cost = 100,
                                     .priced = true,
                                     .input_tokens = 10,
                                     .output_tokens = 3,
                                     .cached_tokens = 2})));
  }
  const std::vector<BudgetUsage> used = *run(budget().usage(ann_, 0));
  ASSERT_EQ(used.size(), 2u);
  EXPECT_EQ(used[0].agent, "coder");
  EXPECT_EQ(used[1].calls, 2);
  EXPECT_EQ(used[1].priced, 2);
  EXPECT_EQ(used[1].cost, 200);
  EXPECT_EQ(used[1].input_tokens, 20);
  EXPECT_EQ(used[1].output_tokens, 6);
  EXPECT_EQ(used[1].cached_tokens, 4);
  EXPECT_EQ(used[1].at, 8 * kQuarter);
  EXPECT_TRUE(run(budget().usage(ann_, 9 * kQuarter))->empty());
}

TEST_P(BudgetConformance, SumsFitWhateverACallIsSaidToHaveCost) {
  constexpr std::int64_t kAbsurd = std::numeric_limits<std::int64_t>::max();
  for (const std::string id : {"a", "b", "c"}) {
    ASSERT_TRUE(run(budget().reserve(call(ann_, id, 10))));
    ASSERT_TRUE(run(budget().settle({.id = id,
                                     .cost = kAbsurd,
                                     .priced = true,
                                     .input_tokens = kAbsurd,
                                     .output_tokens = kAbsurd,
                                     .cached_tokens = kAbsurd})));
  }
  const auto sums = run(budget().sums(0));
  ASSERT_TRUE(sums) << sums.error().text();
  EXPECT_EQ(sums->at(0).cost, 3 * kMaxBudgetAmount);
  const auto used = run(budget().usage(ann_, 0));
  ASSERT_TRUE(used) << used.error().text();
  for (const std::int64_t each :
       {used->at(0).cost, used->at(0).input_tokens, used->at(0).output_tokens, used->at(0).cached_tokens})
    EXPECT_EQ(each, 3 * kMaxBudgetAmount);
}

TEST_P(BudgetConformance, WhoeverDiedIsKnownAndOldCallsAreForgotten) {
  EXPECT_FALSE(*run(budget().begin()));
  EXPECT_TRUE(*run(budget().begin())) << "the first one has not said that it ended";
  ASSERT_TRUE(run(budget().end()));
  EXPECT_FALSE(*run(budget().begin()));
  for (const UnixMs at : {1, 2, 3}) ASSERT_TRUE(run(budget().reserve(call(ann_, std::to_string(at), at))));
  ASSERT_TRUE(run(budget().settle({.id = "1"})));
  ASSERT_TRUE(run(budget().settle({.id = "3"})));
  ASSERT_TRUE(run(budget().forget(3)));
  EXPECT_EQ(run(budget().begun(0))->size(), 2u) << "an open call is kept, however old";
}

}  // namespace chela::store
