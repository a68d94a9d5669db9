#include "config/budget_rule.h"

#include <gtest/gtest.h>

namespace chela::config {
namespace {

TEST(BudgetRule, SaysWhoseInWhichTimeAndHowMuch) {
  const BudgetRule agent = *parse_budget_rule("agent:researcher day 50");
  EXPECT_EQ(agent, (BudgetRule{.of = BudgetOf::kAgent, .name = "researcher", .limit = 500'000'000}));
  EXPECT_EQ(describe(agent), "agent:researcher day");
  const BudgetRule each = *parse_budget_rule("  session:*   hour 30 soft ");
  EXPECT_EQ(each, (BudgetRule{.of = BudgetOf::kSession,
                              .name = "*",
                              .window = BudgetWindow::kHour,
                              .limit = 30,
                              .kind = BudgetRule::Kind::kSoft}));
  EXPECT_EQ(parse_budget_rule("all month 0")->limit, 0);
  EXPECT_EQ(parse_budget_rule("key:a:b day 1")->name, "a:b");
  EXPECT_TRUE(parse_budget_rule(fmt::format("all day {}", kMaxBudgetCents)));
  EXPECT_TRUE(parse_budget_rule(fmt::format("all hour {}", kMaxBudgetActions)));
}

TEST(BudgetRule, WhatIsNoneIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("all day"), std::string("all week 5"), std::string("planet:x day 5"),
        std::string("all:x day 5"), std::string("agent day 5"), std::string("agent: day 5"),
        std::string("all day -1"), std::string("all day 5.5"), std::string("all day 5 hard"),
        std::string("all day 99999999999999999999"), fmt::format("all day {}", kMaxBudgetCents + 1),
        fmt::format("all hour {}", kMaxBudgetActions + 1)}) {
    const Result<BudgetRule> rule = parse_budget_rule(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_EQ(rule.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace chela::config
