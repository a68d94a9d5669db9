#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/result.h"
#include "os/fd.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::os {

// One thread that watches pipes, child processes and signals with epoll and tells the loop. Sockets are net/'s own matter.
// Owned by app/, beside the loop; outlives the child processes and signal watches that use it. Its methods are for the loop thread.
class Poller {
 public:
  static Result<std::unique_ptr<Poller>> create(runtime::EventLoop& loop);
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Until the descriptor can be read from or written to without blocking, or is closed at the other end. kCancelled on stop. One waiter a
  // descriptor and direction; the descriptor stays open while somebody waits.
  Task<Result<>> readable(int fd, std::stop_token stop);
  Task<Result<>> writable(int fd, std::stop_token stop);

  runtime::EventLoop& loop() { return loop_; }

 private:
  struct Waiters {
    std::optional<runtime::Completion<bool>> read, write;
  };

  Poller(runtime::EventLoop& loop, Fd epoll, Fd wake);
  Task<Result<>> wait(int fd, std::optional<runtime::Completion<bool>> Waiters::* side, std::stop_token stop);
  Result<> arm(int fd, const Waiters& waiters);
  void run();

  runtime::EventLoop& loop_;
  Fd epoll_;
  Fd wake_;
  std::mutex mutex_;
  std::map<int, Waiters> waiters_;
  std::thread thread_;
};

}  // namespace chela::os
