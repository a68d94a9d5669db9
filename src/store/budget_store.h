#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "runtime/task.h"

namespace chela::store {

// The accounts that a call of a model counts for. "" = it has none of the kind.
struct BudgetAccounts {
  std::string realm = {};
  std::string user = {};
  std::string agent = {};
  std::string session = {};  // thread
  std::string job = {};
  std::string channel = {};
  std::string key = {};  // id of the client's token

  bool operator==(const BudgetAccounts&) const = default;
};

// A call before it is made. Money in nano-dollars.
struct BudgetCall {
  std::string id;
  UnixMs at = 0;
  BudgetAccounts accounts;
  std::string model;
  std::int64_t reserved = 0;     // what it costs at most
  std::int64_t prompt_cost = 0;  // the prompt's part of that

  bool operator==(const BudgetCall&) const = default;
};

// More than that of one call counts as so much, nano-dollars and tokens alike: sums of them fit, whatever a server has told.
inline constexpr std::int64_t kMaxBudgetAmount = 10'000'000'000'000;

// What it has cost.
struct BudgetSettlement {
  std::string id;
  std::int64_t cost = 0;
  bool priced = false;  // false: nobody knows the price, and `cost` says nothing
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cached_tokens = 0;
};

// Calls of the same accounts that have ended, of a quarter of an hour.
struct BudgetSum {
  UnixMs at = 0;  // its beginning
  BudgetAccounts accounts;
  std::int64_t cost = 0;
};

// What a user's calls of a quarter of an hour have used, by agent and model.
struct BudgetUsage {
  UnixMs at = 0;
  std::string agent;
  std::string model;
  std::int64_t calls = 0;
  std::int64_t priced = 0;  // of them
  std::int64_t cost = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cached_tokens = 0;
};

// The calls that llm/budget counts. Loop thread only. Writes are queued at once, before the task is awaited, in the order of the calls; they
// ride with the next commit and return after it. A read that begins after a write was answered sees it.
class BudgetStore {
 public:
  virtual ~BudgetStore() = default;

  // Says that somebody counts from now on; true when whoever did before has not said end().
  virtual Task<Result<bool>> begin() = 0;
  // All that was begun is settled. On disk when it returns.
  virtual Task<Result<>> end() = 0;

  virtual Task<Result<>> reserve(BudgetCall call) = 0;
  // Of a call that is open; of any other nothing happens.
  virtual Task<Result<>> settle(BudgetSettlement settlement) = 0;
  // Asks for a commit of what was written so far: somebody waits.
  virtual void commit_soon() = 0;

  // Of all users, for the engine alone: calls that have not been settled, oldest first; the sums of those that have, since `from`; when
  // calls were begun since `from`, with their accounts (`cost` is 0).
  virtual Task<Result<std::vector<BudgetCall>>> open_calls() = 0;
  virtual Task<Result<std::vector<BudgetSum>>> sums(UnixMs from) = 0;
  virtual Task<Result<std::vector<BudgetSum>>> begun(UnixMs from) = 0;
  // Forgets calls that ended and were begun before.
  virtual Task<Result<>> forget(UnixMs before) = 0;

  // What the scope's user has used since `from`; the agent does not matter.
  virtual Task<Result<std::vector<BudgetUsage>>> usage(Scope scope, UnixMs from) = 0;
};

}  // namespace chela::store
