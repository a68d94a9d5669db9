#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::config {

// Whose calls a limit counts.
enum class BudgetOf { kAll, kRealm, kUser, kAgent, kSession, kJob, kChannel, kKey };
std::string_view budget_of_name(BudgetOf of);

// An hour is any 3600 s and counts calls; day and month are those of the stated zone and count money.
enum class BudgetWindow { kHour, kDay, kMonth };

// A limit of what calls of models may cost.
struct BudgetRule {
  BudgetOf of = BudgetOf::kAll;
  std::string name = {};  // "*" = each of the kind has the limit for itself; "" with kAll
  BudgetWindow window = BudgetWindow::kDay;
  std::int64_t limit = 0;  // nano-dollars, or calls
  enum class Kind { kHard, kSoft } kind = Kind::kHard;
  std::string key = "budget.limits";  // the setting it comes from

  bool operator==(const BudgetRule&) const = default;
};

inline constexpr std::int64_t kNanoPerCent = 10'000'000;
inline constexpr std::int64_t kMaxBudgetCents = 1'000'000'000;
inline constexpr std::int64_t kMaxBudgetActions = 1'000'000;
inline constexpr size_t kMaxBudgetRules = 64;

// "agent:researcher day 50": whose, window, cents (for an hour: calls), and "soft" at the end when it only warns. kInvalidArgument says
// what is wrong.
Result<BudgetRule> parse_budget_rule(std::string_view text);

// "agent:researcher day", for people.
std::string describe(const BudgetRule& rule);

}  // namespace chela::config
