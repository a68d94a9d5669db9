#include "runtime/asio_loop.h"

#include <boost/asio/io_context.hpp>

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "base/check.h"

namespace chela::runtime {

struct AsioLoop::State {
  SystemClock clock;
  Epoll epoll;

  // What is posted: by the loop's own thread, and by others.
  std::atomic<std::thread::id> thread;
  std::deque<Callback> posted;
  size_t until_look = 0;  // callbacks
  std::mutex mutex;
  std::deque<Callback> from_others;
  std::atomic<bool> others_posted = false;  // changed under the mutex
  bool asleep = false;                      // the same
  const int alarm;

  // All timers of the process share one of the kernel, set to the earliest of them or to one that has been cancelled.
  const int timer_fd;
  const Epoll::Key timer_key;
  std::optional<SteadyTime> timer_set;
  std::multimap<SteadyTime, std::pair<TimerId, Callback>> timers;
  std::unordered_map<TimerId, decltype(timers)::iterator> by_id;
  TimerId last_id = 0;

  std::optional<boost::asio::io_context> context;
  bool context_busy = false;

  State()
      : alarm(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        timer_fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
        timer_key(epoll.add(timer_fd)) {
    CHELA_CHECK(alarm >= 0, "the kernel gives no eventfd");
    epoll.add_alarm(alarm);
    watch_timer();
  }

  // Callbacks own things that come back to the loop when they go.
  ~State() {
    epoll.clear();
    context.reset();
    while (take_from_others(), !posted.empty()) drop(posted.front(), [this] { posted.pop_front(); });
    while (!timers.empty()) {
      by_id.erase(timers.begin()->second.first);
      drop(timers.begin()->second.second, [this] { timers.erase(timers.begin()); });
    }
    ::close(timer_fd);
    ::close(alarm);
  }

  template <class Erase>
  static void drop(Callback& callback, Erase erase) {
    const Callback gone = std::move(callback);
    erase();
  }

  void take_from_others() {
    const std::lock_guard lock(mutex);
    while (!from_others.empty()) {
      posted.push_back(std::move(from_others.front()));
      from_others.pop_front();
    }
    others_posted.store(false, std::memory_order_relaxed);
  }

  void post(Callback callback) {
    if (thread.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      if (others_posted.load(std::memory_order_relaxed)) take_from_others();  // they came first
      posted.push_back(std::move(callback));
      return;
    }
    bool wake = false;
    {
      const std::lock_guard lock(mutex);
      from_others.push_back(std::move(callback));
      others_posted.store(true, std::memory_order_relaxed);
      wake = std::exchange(asleep, false);
    }
    const std::uint64_t one = 1;
    if (wake) CHELA_CHECK(::write(alarm, &one, sizeof one) == sizeof one, "an eventfd refuses to be written");
  }

  // Whether nothing is to be done before a descriptor is ready; whoever posts from now on ends the look.
  bool falls_asleep() {
    if (!posted.empty()) return false;
    const std::lock_guard lock(mutex);
    asleep = from_others.empty();
    return asleep;
  }

  void watch_timer() {
    epoll.wait(timer_key, Epoll::Side::kRead, [this] { fire(); });
  }

  void set_timer(std::optional<SteadyTime> when) {
    using std::chrono::nanoseconds;
    timer_set = when;
    itimerspec at{};
    if (when) {
      // Zero would be never.
      const auto since = std::max<nanoseconds>(when->time_since_epoch(), nanoseconds(1)).count();
      at.it_value = {.tv_sec = since / 1'000'000'000, .tv_nsec = since % 1'000'000'000};
    }
    ::timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &at, nullptr);
  }

  void fire() {
    const SteadyTime now = clock.steady();
    while (!timers.empty() && timers.begin()->first <= now) {
      auto [id, callback] = std::move(timers.begin()->second);
      by_id.erase(id);
      timers.erase(timers.begin());
      callback();
    }
    set_timer(timers.empty() ? std::nullopt : std::optional(timers.begin()->first));
    watch_timer();
  }

  void run_posted() {
    Callback callback = std::move(posted.front());
    posted.pop_front();
    --until_look;
    callback();
  }

  void poll_context() {
    if (!context_busy) return;
    context->poll();
    context_busy = !context->stopped();
  }

  // Runs one callback, or finds out what there is to run.
  void step() {
    if (Callback ready = epoll.next()) return ready();
    if (others_posted.load(std::memory_order_relaxed)) take_from_others();
    if (!posted.empty() && until_look > 0) return run_posted();
    poll_context();
    const bool sleeps = falls_asleep();
    epoll.look(sleeps ? Epoll::Patience::kEndless : Epoll::Patience::kNone);
    if (sleeps) {
      const std::lock_guard lock(mutex);
      asleep = false;
    }
    until_look = kCallbacksBetweenLooks;
  }
};

AsioLoop::AsioLoop() : state_(std::make_unique<State>()) {}
AsioLoop::~AsioLoop() = default;

void AsioLoop::post(Callback callback) { state_->post(std::move(callback)); }

TimerId AsioLoop::call_at(SteadyTime when, Callback callback) {
  const TimerId id = ++state_->last_id;
  const auto at = state_->timers.emplace(when, std::make_pair(id, std::move(callback)));
  state_->by_id.emplace(id, at);
  if (!state_->timer_set || when < *state_->timer_set) state_->set_timer(when);
  return id;
}

bool AsioLoop::cancel(TimerId timer) {
  const auto found = state_->by_id.find(timer);
  if (found == state_->by_id.end()) return false;
  const Callback gone = std::move(found->second->second.second);
  state_->timers.erase(found->second);
  state_->by_id.erase(found);
  return true;
}

const Clock& AsioLoop::clock() const { return state_->clock; }

void AsioLoop::run_until(const std::function<bool()>& done) {
  state_->thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
  while (!done()) state_->step();
}

Epoll& AsioLoop::epoll() { return state_->epoll; }

boost::asio::io_context& AsioLoop::context() {
  if (!state_->context) state_->context.emplace(1);
  if (!std::exchange(state_->context_busy, true)) state_->context->restart();
  return *state_->context;
}

}  // namespace chela::runtime
