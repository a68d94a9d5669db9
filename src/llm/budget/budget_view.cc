#include "llm/budget/budget_view.h"

namespace chela::llm::budget {

double to_dollars(Nano amount) { return static_cast<double>(amount) / static_cast<double>(kNanoPerDollar); }

json::Value view_of(const Standing& standing) {
  using config::BudgetWindow;
  const bool calls = standing.rule.window == BudgetWindow::kHour;
  const auto amount = [calls](std::int64_t of) {
    return calls ? json::Value(static_cast<long long>(of)) : json::Value(to_dollars(of));
  };
  json::Value view = json::Value::object({{"limit", standing.limit},
                                          {"window", calls                                          ? "hour"
                                                     : standing.rule.window == BudgetWindow::kMonth ? "month"
                                                                                                    : "day"},
                                          {"unit", calls ? "calls" : "usd"},
                                          {"hard", standing.rule.kind == config::BudgetRule::Kind::kHard},
                                          {"amount", amount(standing.rule.limit)},
                                          {"spent", amount(standing.spent)},
                                          {"reserved", amount(standing.reserved)},
                                          {"left", amount(standing.left)}});
  if (standing.resets_at > 0) view.set("resets_at", format_rfc3339(standing.resets_at));
  return view;
}

}  // namespace chela::llm::budget
