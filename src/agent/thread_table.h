#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "agent/thread.h"

namespace chela::agent {

// The threads in memory: there is only ever one object of a thread. Owned by the engine; loop thread only.
class ThreadTable {
 public:
  // Told when the last thread of a session (realm, agent, user) has gone.
  using SessionEnd = std::function<void(const Scope& scope)>;

  // Past `max` threads those longest unused are dropped.
  ThreadTable(std::size_t max, SessionEnd session_end) : max_(max), session_end_(std::move(session_end)) {}

  ThreadPtr find(const std::string& id) const;  // null: not in memory
  // By the channel's own name of it.
  ThreadPtr find_named(const Scope& scope, const std::string& channel, const std::string& external) const;

  // Gives the thread of this id that is there already, else keeps this one.
  ThreadPtr add(ThreadPtr thread);
  // This object is given up: the thread is read again from the log.
  void remove(const ThreadPtr& thread);
  // Memory stays flat however many threads there are: what sleeps in the store needs none. Threads in use stay.
  void drop_idle();

  std::size_t size() const { return by_id_.size(); }
  auto begin() const { return by_id_.begin(); }
  auto end() const { return by_id_.end(); }

 private:
  void forget(const Thread& thread);

  const std::size_t max_;
  const SessionEnd session_end_;
  std::unordered_map<std::string, ThreadPtr> by_id_;
  std::unordered_map<std::string, std::weak_ptr<Thread>> by_name_;  // those that have one
  std::unordered_map<std::string, std::size_t> sessions_;           // how many threads of each are here
};

// The key of a session: all threads of (realm, agent, user).
std::string session_key(const Scope& scope);

}  // namespace chela::agent
