#pragma once

#include <deque>
#include <string>
#include <vector>

#include "agent/engine.h"
#include "agent/traces/trace.h"
#include "config/settings.h"
#include "runtime/event_loop.h"
#include "runtime/pool.h"
#include "runtime/task_group.h"
#include "security/vault.h"

namespace chela::app {

// Writes traces of conversations while they go on: after each turn the whole thread again, without any secret that the log masks. A file
// each in the home, or one for all threads of the process. Never in the way of a turn; what cannot be written is said in the log. Loop
// thread only; the owner awaits close() before the engine goes.
class TraceRecorder {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    runtime::Pool& pool;
    security::Vault& vault;
    std::string folder;  // of the home; made when the first trace is written
  };
  explicit TraceRecorder(Parts parts) : parts_(std::move(parts)), tasks_(parts_.loop) {}

  // What is recorded: before the first turn ends.
  void use(agent::Engine& engine) { engine_ = &engine; }
  void configure(config::TraceSettings settings) { settings_ = std::move(settings); }
  void turn_ended(const Scope& scope, const std::string& thread);
  // Ends with what was still to be written.
  Task<> close() { co_await tasks_.join(); }

 private:
  struct Place {
    Scope scope;
    std::string thread;
    bool operator==(const Place& other) const { return thread == other.thread; }
  };
  Task<> work();
  Task<Result<>> write(Place place);
  Result<std::string> text_of_all(Place place, agent::traces::Trace trace);

  Parts parts_;
  agent::Engine* engine_ = nullptr;
  config::TraceSettings settings_;
  std::deque<Place> waiting_;  // each thread once
  std::vector<std::pair<Place, agent::traces::Trace>>
      together_;  // of the one file, in the order of their first turns
  bool working_ = false;
  runtime::TaskGroup tasks_;
};

}  // namespace chela::app
