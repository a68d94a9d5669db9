#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "bus/wire.h"
#include "bus/worker.h"
#include "runtime/completion.h"

namespace chela::bus {

// How an unanswered call ends for a caller inside the engine: the result's JSON ("" = none), or an error.
using CallEnd = Result<std::string>;

// What another worker must be told, should the one that a call went to not provide the function any more. Kept where there is another, and of small calls in case one comes.
struct SpareCall {
  std::string data;      // JSON
  std::string metadata;  // JSON, or ""
  Viewer viewer;         // whose call it is
  std::string caller_worker;
  int passed_on = 0;
};

// An invocation that a worker was sent and has not answered.
struct PendingCall {
  WorkerPtr callee;
  std::string function_id;
  SteadyTime deadline;
  // Who waits: a worker with its own id for the call (without one it is only counted), a task of the engine, or (a void call) nobody.
  WorkerPtr caller = {};
  std::string caller_id = {};
  std::optional<runtime::Completion<CallEnd>> waiter = std::nullopt;
  // What the callee is lent for it, when it is another user's call than the callee's own.
  std::shared_ptr<const Rights> lent = {};
  // The caller's trace context as it came, for an answer that brings none.
  std::string traceparent = {};
  std::string baggage = {};
  std::uint64_t watched = 0;  // the observer's number of it
  std::unique_ptr<SpareCall> spare = {};

  size_t spare_bytes() const { return spare ? spare->data.size() + spare->metadata.size() : 0; }
};

// Why a call cannot be made.
WireError no_such_function(std::string_view id);
WireError no_free_worker(std::string_view id);

// The unanswered calls. The callee is told an id of ours, so that two callers' ids cannot meet. Keeps the workers' counts of open
// calls. Loop thread only.
class Calls {
 public:
  // Records a call; gives its id for the callee.
  std::string add(PendingCall call);
  // The call that this worker answers; nothing when there is none, or another worker has it.
  std::optional<PendingCall> take(std::string_view id, const Worker& callee);
  // The call with the number that last() gave, for which nobody waits any more. There is no word that stops a worker: it counts as served
  // until it is answered or its time is over, so that who asks and leaves cannot heap calls on a worker.
  std::optional<PendingCall> abandon(std::uint64_t number);
  // Of the call that was recorded last.
  std::uint64_t last() const { return last_; }
  // All calls that the worker serves, and those that it alone waits for: who still works on one of these answers nobody. What the engine
  // waits for in its name goes on.
  std::vector<PendingCall> take_of(const WorkerPtr& worker);
  std::vector<PendingCall> take_expired(SteadyTime now);
  size_t size() const { return open_.size(); }
  // Whether there is anything that can expire.
  bool idle() const { return open_.empty() && abandoned_.empty(); }
  size_t spare_bytes() const { return spare_bytes_; }
  // A call that has left the table still holds so much, until it is settled.
  void hold(size_t bytes) { spare_bytes_ += bytes; }
  void let_go(size_t bytes) { spare_bytes_ -= bytes; }

 private:
  using Open = std::unordered_map<std::uint64_t, PendingCall>;
  PendingCall remove(Open::iterator at);

  struct Abandoned {
    WorkerPtr callee;
    SteadyTime deadline;
  };
  using AllAbandoned = std::unordered_map<std::uint64_t, Abandoned>;
  AllAbandoned::iterator forget(AllAbandoned::iterator at);

  Open open_;
  AllAbandoned abandoned_;  // at most kMaxCallsServed of each worker
  size_t spare_bytes_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace chela::bus
