#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "agent/engine.h"
#include "bus/bus.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"

namespace chela::app {

// Hands every finished turn to the function `memory::store` of a worker, while one provides it that the turn's user reaches: what the
// person said and what was answered, a call each, in the order of the turns. Turns that end while nobody provides it are not handed over
// later; the log of turns has them all. Never in the way of a turn. Loop thread only; the owner awaits close() before engine and bus go.
class BusMemories {
 public:
  BusMemories(runtime::EventLoop& loop, agent::Engine& engine, bus::Bus& bus)
      : engine_(engine), bus_(bus), tasks_(loop) {}

  void turn_ended(const Scope& scope, const std::string& thread, const std::string& turn);
  // Drops what was not begun.
  Task<> close();

 private:
  struct Ended {
    Scope scope;
    std::string thread;
    std::string turn;
  };
  op::CallContext context(const Scope& scope) const;
  Task<> work();
  Task<Result<>> hand_over(Ended ended);
  Task<Result<>> store(Ended ended, std::string role, std::string content, json::Value tokens);

  agent::Engine& engine_;
  bus::Bus& bus_;
  std::deque<Ended> waiting_;
  std::size_t refused_ = 0;  // since nothing waited
  bool working_ = false;
  runtime::TaskGroup tasks_;
};

}  // namespace chela::app
