#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "agent/dependencies.h"
#include "agent/engine.h"
#include "agent/turn/request.h"
#include "agent/turn/state.h"
#include "runtime/mutex.h"
#include "store/turn_log_store.h"

namespace chela::agent {

// A thread in memory: its folded log and what runs on it. `mutex` is held while an input from outside is taken in, so that inputs of one
// thread are handled in the order they came.
struct Thread {
  explicit Thread(runtime::EventLoop& loop) : mutex(loop) {}

  store::ThreadRow row;
  bool draft = false;   // not in the store yet: its first record brings it there
  bool loaded = false;  // `state` is that of the log
  turn::State state;
  runtime::Mutex mutex;

  // Of the running turn. A new turn gets a new stop source; work of an ended turn sees its stop and finds another turn id.
  std::stop_source stop{std::nostopstate};
  turn::Sources sources;
  AgentSpec agent;
  turn::PrefixTracker prefix;
  ModelChoice model;
  bool working = false;  // a task performs effects; false while the turn sleeps
  bool repeated_call =
      false;  // a model call was under way when the engine stopped: clients may hold its text

  // Set when an append failed: the state in memory is ahead of the log, so this object is given up and the thread is read again.
  std::optional<Error> broken;
  std::int64_t last_used = 0;

  std::int64_t changes = 0;  // records appended: what looked at the state before an await compares them
  std::optional<std::stop_source>
      summary;  // of the model call that sums the thread up; whatever is appended ends it
};

using ThreadPtr = std::shared_ptr<Thread>;

// What is known of a turn for those who wait for it.
struct Watch {
  Scope scope;
  std::string thread;
  TurnOutcome outcome;
  std::vector<runtime::Completion<bool>> waiters;
};

}  // namespace chela::agent
