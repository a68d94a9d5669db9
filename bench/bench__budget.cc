// What stands before calls of models: decisions of the budget (reserve and settle) per second of processor time, with the limits that people
// have. A part of llm.py. Prints one JSON object. Usage: bench__budget [--seconds N]

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <deque>

#include "bench/arguments.h"
#include "llm/budget/ledger.h"

namespace chela::bench {
namespace {

using llm::budget::Ledger;

constexpr size_t kRunning = 100;  // calls at the same time

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

config::BudgetSettings limits() {
  config::BudgetSettings settings{.warn_percent = 80, .timezone = "Europe/Berlin"};
  for (const std::string_view rule : {"all day 1000000000", "all month 1000000000", "user:* day 1000000000",
                                      "agent:* day 1000000000", "session:* day 1000000000"})
    settings.rules.push_back(*config::parse_budget_rule(rule));
  return settings;
}

double decisions_per_second(double seconds) {
  Ledger ledger(limits());
  std::deque<std::string> running;
  UnixMs now = 1'767'268'800'000;
  std::size_t decisions = 0;
  const double begin = processor_seconds();
  double spent = 0;
  while (spent < seconds) {
    for (int n = 0; n < 1000; ++n, ++decisions) {
      const std::string id = fmt::format("{:036}", decisions);
      const bool granted = ledger
                               .reserve(id,
                                        {.accounts = {.realm = "default",
                                                      .user = fmt::format("user-{}", decisions % 50),
                                                      .agent = fmt::format("agent-{}", decisions % 20),
                                                      .session = fmt::format("thread-{}", decisions % 500),
                                                      .channel = "gateway"},
                                         .priced = true,
                                         .prompt = 1'000'000,
                                         .output_rate = 10'000'000'000,
                                         .output_tokens = 1000},
                                        now)
                               .has_value();
      if (!granted) return 0;  // the limits are far away
      ledger.written(id);
      running.push_back(id);
      if (running.size() <= kRunning) continue;
      (void)ledger.settle(running.front(), 20'000, now);
      running.pop_front();
    }
    now += 10;
    spent = processor_seconds() - begin;
  }
  return static_cast<double>(decisions) / spent;
}

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  const chela::bench::Arguments arguments(argc, argv);
  fmt::print(
      "{{\"budget\": {{\"reserve_and_settle_per_second\": {:.0f}, \"limits\": 5, \"accounts\": 571}}}}\n",
      chela::bench::decisions_per_second(arguments.seconds));
  return 0;
}
