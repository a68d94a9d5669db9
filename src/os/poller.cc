#include "os/poller.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>

#include "os/file.h"

namespace chela::os {

namespace {
constexpr int kEventsPerRound = 64;
}

Result<std::unique_ptr<Poller>> Poller::create(runtime::EventLoop& loop) {
  // A pipe whose reader is gone is an error of write(), never a reason to die.
  std::signal(SIGPIPE, SIG_IGN);
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  Fd wake(::eventfd(0, EFD_CLOEXEC));
  if (!epoll || !wake) return fail(system_error(errno, "create", "an event watch"));
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake.get()}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0)
    return fail(system_error(errno, "create", "an event watch"));
  return std::unique_ptr<Poller>(new Poller(loop, std::move(epoll), std::move(wake)));
}

Poller::Poller(runtime::EventLoop& loop, Fd epoll, Fd wake)
    : loop_(loop), epoll_(std::move(epoll)), wake_(std::move(wake)), thread_([this] { run(); }) {}

Poller::~Poller() {
  const std::uint64_t one = 1;
  // An eventfd takes a one whatever its state is.
  CHELA_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one, "an eventfd refuses to be written");
  thread_.join();
}

Task<Result<>> Poller::readable(int fd, std::stop_token stop) {
  return wait(fd, &Waiters::read, std::move(stop));
}
Task<Result<>> Poller::writable(int fd, std::stop_token stop) {
  return wait(fd, &Waiters::write, std::move(stop));
}

// Tells the kernel what is waited for; with nobody left, forgets the descriptor. The mutex is held.
Result<> Poller::arm(int fd, const Waiters& waiters) {
  if (!waiters.read && !waiters.write) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    waiters_.erase(fd);
    return {};
  }
  epoll_event event{.events = EPOLLONESHOT, .data = {.fd = fd}};
  if (waiters.read) event.events |= EPOLLIN | EPOLLRDHUP;
  if (waiters.write) event.events |= EPOLLOUT;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0) return {};
  if (errno == ENOENT && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return fail(system_error(errno, "watch", "a descriptor"));
}

Task<Result<>> Poller::wait(int fd, std::optional<runtime::Completion<bool>> Waiters::* side,
                            std::stop_token stop) {
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "cancelled");
  const runtime::Completion<bool> ready(loop_);
  {
    const std::lock_guard lock(mutex_);
    Waiters& waiters = waiters_[fd];
    CHELA_CHECK(!(waiters.*side), "two tasks wait for one descriptor");
    waiters.*side = ready;
    if (Result<> armed = arm(fd, waiters); !armed) {
      (waiters.*side).reset();
      if (!waiters.read && !waiters.write) waiters_.erase(fd);
      co_return armed;
    }
  }
  const std::stop_callback on_stop(stop, [ready] { ready.resolve(false); });
  if (co_await ready) co_return Result<>{};
  const std::lock_guard lock(mutex_);
  // Still there unless the thread saw the descriptor ready at the same moment.
  if (const auto found = waiters_.find(fd); found != waiters_.end() && (found->second.*side)) {
    (found->second.*side).reset();
    (void)arm(fd, found->second);
  }
  co_return fail(Code::kCancelled, "cancelled");
}

void Poller::run() {
  epoll_event events[kEventsPerRound];
  while (true) {
    const int count = ::epoll_wait(epoll_.get(), events, kEventsPerRound, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_.get()) return;
      const std::lock_guard lock(mutex_);
      const auto found = waiters_.find(fd);
      if (found == waiters_.end()) continue;
      Waiters& waiters = found->second;
      const auto happened = [&](std::uint32_t bits) {
        return (events[i].events & (bits | EPOLLHUP | EPOLLERR)) != 0;
      };
      std::optional<runtime::Completion<bool>> read, write;
      if (happened(EPOLLIN | EPOLLRDHUP)) read = std::exchange(waiters.read, std::nullopt);
      if (happened(EPOLLOUT)) write = std::exchange(waiters.write, std::nullopt);
      // What is left was watched before, so watching it goes on. Before anybody is told: who is told may close the descriptor.
      (void)arm(fd, waiters);
      if (read) read->resolve(true);
      if (write) write->resolve(true);
    }
  }
}

}  // namespace chela::os
