#include "os/signals.h"

#include <sys/signalfd.h>

#include <cerrno>

#include "os/file.h"

namespace chela::os {
namespace {

sigset_t set_of(const std::vector<int>& signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : signals) ::sigaddset(&set, each);
  return set;
}

}  // namespace

void block_signals(const std::vector<int>& signals) {
  const sigset_t set = set_of(signals);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Result<std::unique_ptr<SignalWatch>> SignalWatch::create(Poller& poller, const std::vector<int>& signals,
                                                         std::function<void(int)> on_signal) {
  const sigset_t set = set_of(signals);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail(system_error(errno, "watch", "signals"));
  return std::unique_ptr<SignalWatch>(new SignalWatch(poller, std::move(fd), std::move(on_signal)));
}

SignalWatch::SignalWatch(Poller& poller, Fd fd, std::function<void(int)> on_signal)
    : poller_(poller), fd_(std::move(fd)), on_signal_(std::move(on_signal)), tasks_(poller.loop()) {
  tasks_.spawn(watch());
}

Task<> SignalWatch::watch() {
  while (co_await poller_.readable(fd_.get(), tasks_.stop_token())) {
    signalfd_siginfo info;
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) on_signal_(static_cast<int>(info.ssi_signo));
  }
}

Task<> SignalWatch::close() {
  tasks_.stop();
  co_await tasks_.join();
}

}  // namespace chela::os
