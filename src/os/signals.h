#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/poller.h"
#include "runtime/task_group.h"

namespace chela::os {

// Blocks these signals in the calling thread and in those it starts afterwards: main() does it before there is any other thread.
void block_signals(const std::vector<int>& signals);

// Delivers blocked signals on the loop. Its owner awaits close() before it goes.
class SignalWatch {
 public:
  static Result<std::unique_ptr<SignalWatch>> create(Poller& poller, const std::vector<int>& signals,
                                                     std::function<void(int)> on_signal);
  ~SignalWatch() = default;
  Task<> close();

 private:
  SignalWatch(Poller& poller, Fd fd, std::function<void(int)> on_signal);
  Task<> watch();

  Poller& poller_;
  Fd fd_;
  std::function<void(int)> on_signal_;
  runtime::TaskGroup tasks_;
};

}  // namespace chela::os
