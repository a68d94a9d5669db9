#include "llm/budget/ledger.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace chela::llm::budget {
namespace {

using config::BudgetOf;
using config::BudgetRule;
using config::BudgetWindow;

constexpr Nano kCent = config::kNanoPerCent;
constexpr UnixMs kMinute = 60'000;
constexpr UnixMs kHour = 60 * kMinute;
constexpr UnixMs kNoon = 1'767'268'800'000;  // 2026-01-01T12:00:00Z

config::BudgetSettings with(std::vector<std::string> rules, std::string zone = "UTC") {
  config::BudgetSettings settings{.warn_percent = 80, .timezone = std::move(zone)};
  for (const std::string& each : rules) settings.rules.push_back(*config::parse_budget_rule(each));
  return settings;
}

// A call that may cost `most`.
Demand costing(Nano most, std::string agent = "default") {
  return {.accounts = {.realm = "r", .user = "u", .agent = std::move(agent), .session = "t", .channel = "c"},
          .priced = true,
          .prompt = most,
          .output_rate = 1'000'000};
}

TEST(Ledger, RefusesWhatWouldPassAHardLimitAndSaysWhich) {
  Ledger ledger(with({"all day 10"}));
  ASSERT_TRUE(ledger.reserve("a", costing(6 * kCent), kNoon));
  const Result<Grant> refused = ledger.reserve("b", costing(5 * kCent), kNoon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBudgetExceeded);
  EXPECT_EQ(refused.error().detail("limit"), "all day");
  EXPECT_EQ(refused.error().detail("left"), "$0.04");
  EXPECT_EQ(refused.error().detail("resets_at"), "2026-01-02T00:00:00.000Z");
  EXPECT_EQ(refused.error().retry_after, std::chrono::hours(12));
  for (const char* part : {"$0.10 a day", "$0.06 reserved", "$0.04 left", "may cost $0.05", "chela usage"})
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  // What was not needed is free again.
  ledger.settle("a", kCent, kNoon);
  EXPECT_TRUE(ledger.reserve("b", costing(9 * kCent), kNoon));
  EXPECT_FALSE(ledger.reserve("c", costing(1), kNoon));
}

TEST(Ledger, TheDayBeginsAnewByAskingAlone) {
  // IronClaw's guard is cleared only by recording a call, which a refused call never reaches.
  Ledger ledger(with({"all day 10"}));
  ASSERT_TRUE(ledger.reserve("a", costing(10 * kCent), kNoon));
  ledger.settle("a", 10 * kCent, kNoon);
  EXPECT_FALSE(ledger.reserve("b", costing(1), kNoon + 12 * kHour - 1));
  EXPECT_TRUE(ledger.reserve("b", costing(10 * kCent), kNoon + 12 * kHour));
}

TEST(Ledger, DaysAreThoseOfTheZone) {
  // In Berlin the day ends at 23:00 UTC in winter.
  Ledger ledger(with({"all day 10"}, "Europe/Berlin"));
  ASSERT_TRUE(ledger.reserve("a", costing(10 * kCent), kNoon));
  EXPECT_FALSE(ledger.reserve("b", costing(1), kNoon + 11 * kHour - 1));
  ASSERT_TRUE(ledger.reserve("b", costing(1), kNoon + 11 * kHour));
  // A call counts in the day in which it began.
  ledger.settle("a", 10 * kCent, kNoon + 11 * kHour);
  EXPECT_EQ(ledger.standing(costing(0).accounts, kNoon + 11 * kHour)[0].spent, 0);
}

TEST(Ledger, MonthsDaysAndAccountsHoldTogether) {
  Ledger ledger(with({"all month 100", "agent:* day 20", "agent:rich day 50", "user:someone day 0"}));
  EXPECT_FALSE(ledger.reserve("a", costing(21 * kCent), kNoon));
  EXPECT_FALSE(ledger.reserve("a", costing(21 * kCent, "rich"), kNoon)) << "'*' counts for everybody";
  for (int day = 0; day < 5; ++day) {
    const std::string id = std::to_string(day);
    ASSERT_TRUE(ledger.reserve(id, costing(20 * kCent), kNoon + day * 24 * kHour));
    ledger.settle(id, 20 * kCent, kNoon + day * 24 * kHour);
  }
  const Result<Grant> sixth = ledger.reserve("x", costing(kCent), kNoon + 5 * 24 * kHour);
  ASSERT_FALSE(sixth);
  EXPECT_EQ(sixth.error().detail("limit"), "all month");
  EXPECT_EQ(sixth.error().detail("resets_at"), "2026-02-01T00:00:00.000Z");
  EXPECT_TRUE(ledger.reserve("x", costing(kCent), kNoon + 31 * 24 * kHour));
}

TEST(Ledger, EveryKindOfAccountIsCounted) {
  const store::BudgetAccounts accounts{
      .realm = "r", .user = "u", .agent = "a", .session = "s", .job = "j", .channel = "c", .key = "k"};
  for (const std::string& each :
       {"all", "realm:r", "user:u", "agent:a", "session:s", "job:j", "channel:c", "key:k", "key:*"}) {
    Ledger ledger(with({each + " day 1"}));
    EXPECT_FALSE(ledger.reserve("x", {.accounts = accounts, .priced = true, .prompt = 2 * kCent}, kNoon))
        << each;
    EXPECT_TRUE(
        ledger.reserve("y", {.accounts = {}, .priced = true, .prompt = 2 * kCent}, kNoon).has_value() !=
        (each == "all"))
        << each;
  }
}

TEST(Ledger, AnHourIsAnyHourOfCalls) {
  Ledger ledger(with({"all hour 3"}));
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(ledger.reserve(std::to_string(n), {.accounts = {}}, kNoon + n * kMinute));
    ledger.settle(std::to_string(n), 0, kNoon + n * kMinute);
  }
  const Result<Grant> fourth = ledger.reserve("x", {.accounts = {}}, kNoon + kHour - 1);
  ASSERT_FALSE(fourth);
  EXPECT_EQ(fourth.error().code, Code::kBudgetExceeded);
  EXPECT_EQ(fourth.error().retry_after, std::chrono::milliseconds(1));
  EXPECT_TRUE(ledger.reserve("x", {.accounts = {}}, kNoon + kHour));
  EXPECT_FALSE(ledger.reserve("y", {.accounts = {}}, kNoon + kHour));
}

TEST(Ledger, ASoftLimitOfAnHourKeepsNoMoreCallsThanItHas) {
  Ledger ledger(with({"all hour 3 soft"}));
  size_t warnings = 0;
  for (int n = 0; n < 1000; ++n) {
    const Result<Grant> grant = ledger.reserve(std::to_string(n), {.accounts = {}}, kNoon + n);
    ASSERT_TRUE(grant);
    warnings += grant->warnings.size();
  }
  EXPECT_EQ(warnings, 1u);
  Standing now = ledger.standing({}, kNoon + 1000)[0];
  EXPECT_EQ(now.spent, 3);
  EXPECT_EQ(now.resets_at, kNoon + 997 + kHour) << "then fewer than three of the last hour are left";
  // It warns again once it is reached again, not only once little was left of it.
  EXPECT_EQ(ledger.standing({}, kNoon + 997 + kHour)[0].spent, 2);
  EXPECT_EQ(ledger.reserve("x", {.accounts = {}}, kNoon + 997 + kHour)->warnings.size(), 1u);
}

TEST(Ledger, AReservationThatIsLostLeavesNothingBehindButItsRisk) {
  Ledger ledger(with({"all day 100"}));
  for (int n = 0; n < 10; ++n) {
    const std::string id = std::to_string(n);
    ASSERT_TRUE(ledger.reserve(id, costing(kCent), kNoon));
    if (n % 2 == 0) ledger.lost(id);
    ledger.settle(id, kCent, kNoon);
    if (n % 2 == 1) ledger.lost(id);
  }
  EXPECT_EQ(ledger.unwritten(), 0u);
  EXPECT_TRUE(ledger.reserve("x", costing(11 * kCent), kNoon)->wait)
      << "a crash would hide what was lost, too";
}

TEST(Ledger, WarnsOnceADay) {
  Ledger ledger(with({"all day 100", "all day 50 soft"}));
  const auto spend = [&ledger](const std::string& id, Nano cost, UnixMs at) {
    EXPECT_TRUE(ledger.reserve(id, costing(cost), at)) << id;
    std::vector<std::string> limits;
    for (const Warning& each : ledger.settle(id, cost, at)) limits.push_back(each.message);
    return limits;
  };
  EXPECT_TRUE(spend("a", 49 * kCent, kNoon).empty());
  const std::vector<std::string> soft = spend("b", kCent, kNoon);
  ASSERT_EQ(soft.size(), 1u);
  EXPECT_NE(soft[0].find("it only warns"), std::string::npos) << soft[0];
  EXPECT_TRUE(spend("c", 29 * kCent, kNoon).empty());
  EXPECT_EQ(spend("d", kCent, kNoon).size(), 1u) << "80 % of the hard limit";
  EXPECT_TRUE(spend("e", kCent, kNoon).empty());
  EXPECT_EQ(spend("f", 90 * kCent, kNoon + 24 * kHour).size(), 2u);
}

TEST(Ledger, AnAnswerIsCutToWhatIsLeftWhenNobodySaidHowLong) {
  // 10,000,000 nano-dollars, a cent, for a thousand tokens.
  Demand demand{.priced = true,
                .output_rate = 10'000'000'000,
                .output_tokens = kAssumedAnswerTokens,
                .length = Demand::Length::kAny};
  Ledger ledger(with({"all day 3"}));
  const Result<Grant> cut = ledger.reserve("a", demand, kNoon);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->output_tokens, 3000);
  EXPECT_EQ(cut->amount, 3 * kCent);
  ledger.settle("a", 3 * kCent - cost_of_tokens(kMinAnswerTokens, demand.output_rate), kNoon);
  EXPECT_EQ(ledger.reserve("b", demand, kNoon)->output_tokens, kMinAnswerTokens);
  ledger.settle("b", 1, kNoon);
  EXPECT_FALSE(ledger.reserve("c", demand, kNoon)) << "too little is left for an answer";
  demand.length = Demand::Length::kFixed;
  Ledger fixed(with({"all day 3"}));
  EXPECT_FALSE(fixed.reserve("a", demand, kNoon));
  demand.output_tokens = 1000;
  EXPECT_TRUE(fixed.reserve("a", demand, kNoon));
  EXPECT_TRUE(fixed.reserve("c", demand, kNoon));
  EXPECT_TRUE(fixed.reserve("d", demand, kNoon));
  EXPECT_FALSE(fixed.reserve("b", demand, kNoon));
}

TEST(Ledger, WhatACrashLeftCountsUntilItsTimeIsOver) {
  Ledger ledger(with({"all day 10"}));
  ledger.adopt(
      {.id = "left", .at = kNoon, .accounts = {}, .model = "m", .reserved = 8 * kCent, .prompt_cost = kCent},
      kNoon + kMinute);
  EXPECT_FALSE(ledger.reserve("a", costing(3 * kCent), kNoon + kMinute));
  EXPECT_TRUE(ledger.expire(kNoon + kHour - 1).empty());
  EXPECT_FALSE(ledger.reserve("a", costing(3 * kCent), kNoon + kHour - 1));
  const auto over = ledger.expire(kNoon + kHour);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0], std::pair(std::string("left"), kCent));
  EXPECT_TRUE(ledger.reserve("a", costing(9 * kCent), kNoon + kHour)) << "its prompt stays spent";
  EXPECT_FALSE(ledger.reserve("b", costing(1), kNoon + kHour));
}

TEST(Ledger, WhatACrashMayHaveHiddenIsHeldBack) {
  // A fifth of the limit may be unwritten; more is waited for.
  Ledger ledger(with({"all day 10"}));
  EXPECT_FALSE(ledger.reserve("a", costing(10 * kCent / kUnwrittenShare), kNoon)->wait);
  EXPECT_TRUE(ledger.reserve("b", costing(1), kNoon)->wait);
  ledger.settle("a", kCent, kNoon);
  EXPECT_TRUE(ledger.reserve("c", costing(1), kNoon)->wait) << "that it has ended is not on the disk either";
  ledger.written("a");
  EXPECT_FALSE(ledger.reserve("d", costing(kCent), kNoon)->wait);
  // That fifth is what the next engine cannot know.
  Ledger next(with({"all day 10"}));
  next.distrust(kNoon);
  EXPECT_EQ(next.standing({}, kNoon)[0].left, 8 * kCent);
  EXPECT_FALSE(next.reserve("a", costing(8 * kCent + 1), kNoon));
  EXPECT_TRUE(next.reserve("a", costing(8 * kCent), kNoon));
  EXPECT_TRUE(next.reserve("b", costing(2 * kCent), kNoon + kHour)) << "for an hour";
}

TEST(Ledger, OtherLimitsCountWhatIsReserved) {
  Ledger ledger(with({}));
  ASSERT_TRUE(ledger.reserve("a", costing(6 * kCent), kNoon));
  ledger.configure(with({"agent:default day 10"}), kNoon);
  ledger.count(costing(0).accounts, kNoon - kMinute, 3 * kCent, kNoon);
  EXPECT_FALSE(ledger.reserve("b", costing(2 * kCent), kNoon));
  EXPECT_TRUE(ledger.reserve("b", costing(kCent), kNoon));
  ledger.settle("a", 0, kNoon);
  EXPECT_TRUE(ledger.reserve("c", costing(6 * kCent), kNoon));
}

TEST(Ledger, MoreAccountsThanCanBeCountedAreRefused) {
  Ledger ledger(with({"session:* day 5"}));
  Demand demand{.priced = true, .prompt = kCent};
  const auto call = [&](size_t number, UnixMs at) {
    demand.accounts.session = std::to_string(number);
    return ledger.reserve(demand.accounts.session, demand, at);
  };
  for (size_t n = 0; n < kMaxMeters; ++n) ASSERT_TRUE(call(n, kNoon));
  const Result<Grant> refused = call(kMaxMeters, kNoon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_TRUE(call(kMaxMeters, kNoon + 24 * kHour)) << "those of yesterday have left";
}

// Whatever comes in whatever order, what was spent never passes a hard limit, as long as calls cost no more than they reserved.
TEST(Ledger, NothingPassesALimit) {
  rc::check("1,000 calls that run at the same time", [] {
    const std::int64_t cents = *rc::gen::inRange(1, 2000);
    Ledger ledger(with({fmt::format("all day {}", cents), "agent:* day 40", "session:* month 90"}));
    std::vector<std::pair<std::string, Nano>> running;
    std::map<std::string, Nano> by_agent;
    Nano spent = 0;
    const std::vector<std::uint32_t> dice =
        *rc::gen::container<std::vector<std::uint32_t>>(1000, rc::gen::arbitrary<std::uint32_t>());
    for (size_t n = 0; n < dice.size(); ++n) {
      const std::string agent = std::to_string(dice[n] % 7);
      const Nano most = static_cast<Nano>(dice[n] % 300) * kCent / 10;
      const std::string id = agent + "/" + std::to_string(n);
      if (const Result<Grant> grant = ledger.reserve(id, costing(most, agent), kNoon)) {
        RC_ASSERT(grant->amount == most);
        running.emplace_back(id, most);
      }
      if (!running.empty() && dice[n] % 3 == 0) {
        std::swap(running[dice[n] / 3 % running.size()], running.back());
        const auto [ended, amount] = running.back();
        running.pop_back();
        const Nano cost = amount - amount * (dice[n] % 5) / 5;
        ledger.settle(ended, cost, kNoon);
        spent += cost;
        by_agent[ended.substr(0, ended.find('/'))] += cost;
      }
    }
    for (const auto& [id, amount] : running) {
      ledger.settle(id, amount, kNoon);
      spent += amount;
      by_agent[id.substr(0, id.find('/'))] += amount;
    }
    RC_ASSERT(spent <= std::min(cents, std::int64_t{90}) * kCent);
    for (const auto& [agent, cost] : by_agent) RC_ASSERT(cost <= 40 * kCent);
    RC_ASSERT(ledger.standing(costing(0).accounts, kNoon)[0].spent == spent);
    RC_ASSERT(ledger.standing(costing(0).accounts, kNoon)[0].reserved == 0);
  });
}

}  // namespace
}  // namespace chela::llm::budget
