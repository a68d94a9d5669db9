#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/settings.h"
#include "llm/budget/ledger.h"
#include "llm/budget/token_bound.h"
#include "llm/models.h"
#include "llm/provider.h"
#include "obs/metrics.h"
#include "runtime/event_loop.h"
#include "runtime/id_source.h"
#include "runtime/mutex.h"
#include "runtime/task_group.h"
#include "store/budget_store.h"

namespace chela::llm::budget {

// A reservation of one attempt of a call.
struct Lease {
  std::string id;
  std::string model;
  std::optional<Rates> rates;              // nothing: not known
  std::optional<std::int64_t> max_tokens;  // that the request has to carry, so that the answer fits
  TokenBound::Prompt prompt;
  std::function<void(const json::Value&)> warn;
};

// The one place that reserves and settles what calls of models cost: the ledger decides, the store keeps it. Counts at once, writes behind: a
// reservation is on the disk with the next commit, and only one that is a large part of a limit (kUnwrittenShare) is waited for. What was
// spent is read from the store before the first call. Lives on the loop, owned by app/; its owner awaits stop().
class Budget {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    runtime::IdSource& ids;
    store::BudgetStore& store;
    obs::Metrics& metrics;
    std::function<ModelInfo(std::string_view model)> model;  // what the catalog knows
  };
  Budget(Parts parts, config::BudgetSettings settings);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // Reads what was spent, in the background.
  void start();
  // Other limits, for calls from now on; they wait until what was spent has been read again.
  void configure(config::BudgetSettings settings);
  // Nothing may be reserved from then on.
  Task<> stop();

  // kBudgetExceeded: see Ledger::reserve. The store's error when what was spent cannot be read or the reservation cannot be written.
  Task<Result<Lease>> reserve(const Request& request);
  enum class Source { kReported, kEstimated };
  void settle(const Lease& lease, const Usage& usage, Source source);
  // The provider did nothing for it.
  void release(const Lease& lease);

  // The limits that count calls of these accounts.
  Task<Result<std::vector<Standing>>> standing(store::BudgetAccounts accounts);
  // What the user has used on the last days, today included.
  Task<Result<std::vector<store::BudgetUsage>>> usage(Scope scope, int days);
  // "2026-11-22" in the zone of the limits.
  std::string date(UnixMs time) { return ledger_.calendar().date(time); }
  const std::string& zone() { return ledger_.calendar().zone(); }

 private:
  UnixMs now() const { return parts_.loop.clock().now(); }
  Task<Result<>> ready();
  Task<Result<>> load();
  Task<> load_in_background();
  Task<Result<>> read_open_calls();
  Task<Result<>> count_past();
  Task<> record(std::string id, Task<Result<>> write, std::optional<runtime::Completion<Result<>>> done);
  Task<> note(Task<Result<>> write);
  void expire();
  void close(const Lease& lease, store::BudgetSettlement settlement);
  void tell(const Lease& lease, const std::vector<Warning>& warnings);
  Demand demand_of(const Request& request, const TokenBound::Prompt& prompt, const ModelInfo& info,
                   const std::optional<Rates>& rates) const;
  Result<> check_price(const Request& request, const Demand& demand);

  struct Held {
    Lease lease;
    store::BudgetSettlement settlement;
  };

  const Parts parts_;
  config::BudgetSettings wanted_;
  Ledger ledger_;
  TokenBound bound_;
  runtime::TaskGroup tasks_;
  runtime::TaskGroup writes_;
  runtime::Mutex loading_;
  bool begun_ = false;
  bool loaded_ = false;
  bool incomplete_ = false;  // a call is in no row: what the store knows is too little
  std::vector<Held> held_;   // settlements that came while what was spent is read
  std::set<std::string, std::less<>> unpriced_;
  obs::Counter& refused_;
  obs::Counter& spent_;
};

}  // namespace chela::llm::budget
