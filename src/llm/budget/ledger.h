#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "llm/budget/calendar.h"
#include "llm/budget/limits.h"
#include "llm/budget/money.h"
#include "store/budget_store.h"

namespace chela::llm::budget {

// What a call may cost, before it is made.
struct Demand {
  store::BudgetAccounts accounts;
  bool priced = false;  // false: money is not counted
  Nano prompt = 0;      // at most
  Nano output_rate = 0;
  std::int64_t output_tokens = 0;  // at most
  enum class Length {
    kFixed,
    kAny
  } length = Length::kFixed;  // kAny: nobody has said how long the answer may be
};

struct Warning {
  std::string message;
  std::string limit;  // "agent:researcher day"
  std::int64_t percent = 0;
};

struct Grant {
  Nano amount = 0;
  std::int64_t output_tokens = 0;  // no more, where money is limited
  bool limited = false;            // by money
  bool wait = false;               // the reservation has to be on the disk before the call
  std::vector<Warning> warnings;
};

// How a limit stands for somebody.
struct Standing {
  std::string limit;  // "agent:researcher day"
  config::BudgetRule rule;
  std::int64_t spent = 0;     // nano-dollars, or calls
  std::int64_t reserved = 0;  // by calls that run, or that a crash left
  std::int64_t left = 0;
  UnixMs resets_at = 0;  // of an hour: when the oldest call leaves it; 0: nothing to reset
};

// Who may spend how much, and what was spent: a pure ledger. No I/O, no clock, no doubles. What is reserved counts at once, so that calls that
// are decided together cannot pass a limit together. A call counts in the day and month in which it began, whenever it ends.
class Ledger {
 public:
  explicit Ledger(config::BudgetSettings settings)
      : settings_(std::move(settings)), calendar_(settings_.timezone) {
    meters_.resize(settings_.rules.size());
  }

  // Other limits. What is reserved stays so; what was spent has to be counted again.
  void configure(config::BudgetSettings settings, UnixMs now);
  const config::BudgetSettings& settings() const { return settings_; }
  Calendar& calendar() { return calendar_; }
  // From here on calls may matter that began then.
  UnixMs horizon(UnixMs now);

  // Calls of the past: money that was spent, and that one was begun.
  void count(const store::BudgetAccounts& accounts, UnixMs at, Nano cost, UnixMs now);
  void count_begin(const store::BudgetAccounts& accounts, UnixMs at, UnixMs now);
  // A reservation that a crash left.
  void adopt(const store::BudgetCall& call, UnixMs now);
  // An engine died about then: what may be missing of each limit counts as spent for kReservationLife.
  void distrust(UnixMs died_at) { died_at_ = died_at; }

  // Whether the call may be made. kBudgetExceeded says which limit is in the way, what is left, when it resets and what to do. Nothing is
  // reserved then. `id` is new.
  Result<Grant> reserve(const std::string& id, const Demand& demand, UnixMs now);
  // The reservation is on the disk.
  void written(const std::string& id);
  // It will never be: what it is worth stays at risk for its day and month, and nothing waits for it.
  void lost(const std::string& id);
  // What the call has cost instead. Unknown ids are passed over.
  std::vector<Warning> settle(const std::string& id, Nano cost, UnixMs now);
  // Reservations of a crash whose time is over; only what their prompts cost stays spent. Gives them with that.
  std::vector<std::pair<std::string, Nano>> expire(UnixMs now);

  // Every limit that counts calls of these accounts.
  std::vector<Standing> standing(const store::BudgetAccounts& accounts, UnixMs now);
  std::size_t reservations() const { return reservations_.size(); }
  std::size_t unwritten() const {
    return settled_.size();
  }  // calls that ended before their reservations were on the disk

 private:
  struct Meter {
    Span span;
    std::int64_t spent = 0;
    std::int64_t reserved = 0;
    std::int64_t unwritten = 0;  // of what is reserved
    std::deque<UnixMs> calls;    // of the last hour, in their order: no more than the limit
    bool warned = false;
  };
  using MeterPtr = std::shared_ptr<Meter>;
  struct Charge {
    MeterPtr meter;
    UnixMs begin = 0;  // of its span then
    size_t rule = 0;
  };
  struct Reservation {
    store::BudgetAccounts accounts;
    UnixMs at = 0;
    Nano amount = 0;
    Nano prompt = 0;
    bool adopted = false;
    bool written = false;
    bool lost = false;
    std::vector<Charge> charges = {};
  };

  static const std::string* account(const config::BudgetRule& rule, const store::BudgetAccounts& accounts);
  MeterPtr meter(size_t rule, const store::BudgetAccounts& accounts, UnixMs now);
  void roll(size_t rule, Meter& meter, UnixMs now);
  bool make_room(size_t rule, UnixMs now);
  void charge(Reservation& reservation, UnixMs now);
  std::int64_t distrusted(const config::BudgetRule& rule, const Meter& meter, UnixMs now) const;
  Error refusal(const config::BudgetRule& rule, const Meter& meter, Nano needed, UnixMs now) const;
  std::int64_t warns_from(const config::BudgetRule& rule) const;
  static void begin_call(const config::BudgetRule& rule, Meter& meter, UnixMs at);
  std::optional<Warning> warning(size_t rule, const std::string& name, Meter& meter);

  config::BudgetSettings settings_;
  Calendar calendar_;
  std::vector<std::unordered_map<std::string, MeterPtr>> meters_;  // by rule, then by account
  std::unordered_map<std::string, Reservation> reservations_;
  std::unordered_map<std::string, Reservation> settled_;  // whose reservation is not on the disk yet
  std::deque<std::pair<UnixMs, std::string>> adopted_;    // when they began, oldest first
  std::optional<UnixMs> died_at_;
};

}  // namespace chela::llm::budget
