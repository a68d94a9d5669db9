#include "config/budget_rule.h"

#include <array>
#include <charconv>
#include <vector>

#include "base/ids.h"
#include "base/strings.h"

namespace chela::config {
namespace {

constexpr std::array<std::string_view, 8> kKinds = {"all",     "realm", "user",    "agent",
                                                    "session", "job",   "channel", "key"};
constexpr std::array<std::string_view, 3> kWindows = {"hour", "day", "month"};

template <size_t N>
int index_of(const std::array<std::string_view, N>& words, std::string_view word) {
  for (size_t i = 0; i < N; ++i) {
    if (words[i] == word) return static_cast<int>(i);
  }
  return -1;
}

Failure wrong(std::string_view text, std::string_view what) {
  return fail(Code::kInvalidArgument,
              "the limit '{}' {}; write it as 'agent:NAME day CENTS' (all, or realm, user, agent, session, "
              "job, channel, key with a name or *; hour CALLS, day CENTS, month CENTS; 'soft' at the end)",
              text, what);
}

}  // namespace

std::string_view budget_of_name(BudgetOf of) { return kKinds[static_cast<size_t>(of)]; }

Result<BudgetRule> parse_budget_rule(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view each : strings::split(text, ' ')) {
    if (!each.empty()) words.push_back(each);
  }
  BudgetRule rule;
  if (!words.empty() && words.back() == "soft") {
    rule.kind = BudgetRule::Kind::kSoft;
    words.pop_back();
  }
  if (words.size() != 3) return wrong(text, "has not three parts");
  const size_t colon = words[0].find(':');
  const int of = index_of(kKinds, words[0].substr(0, colon));
  if (of < 0) return wrong(text, "is of nothing that there is");
  rule.of = static_cast<BudgetOf>(of);
  if (colon != std::string_view::npos) rule.name = words[0].substr(colon + 1);
  if ((rule.of == BudgetOf::kAll) != rule.name.empty()) return wrong(text, "names no account");
  if (!rule.name.empty() && !is_foreign_id(rule.name)) return wrong(text, "has a name that is no id");
  const int window = index_of(kWindows, words[1]);
  if (window < 0) return wrong(text, "is of no window of time");
  rule.window = static_cast<BudgetWindow>(window);
  const bool calls = rule.window == BudgetWindow::kHour;
  const std::int64_t most = calls ? kMaxBudgetActions : kMaxBudgetCents;
  std::int64_t amount = -1;
  const char* end = words[2].data() + words[2].size();
  const auto read = std::from_chars(words[2].data(), end, amount);
  if (read.ec != std::errc() || read.ptr != end || amount < 0 || amount > most)
    return wrong(text, fmt::format("has an amount that is no whole number from 0 to {}", most));
  rule.limit = calls ? amount : amount * kNanoPerCent;
  return rule;
}

std::string describe(const BudgetRule& rule) {
  std::string out(budget_of_name(rule.of));
  if (!rule.name.empty()) out += ":" + rule.name;
  return fmt::format("{} {}", out, kWindows[static_cast<size_t>(rule.window)]);
}

}  // namespace chela::config
