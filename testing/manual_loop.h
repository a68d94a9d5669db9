#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "runtime/event_loop.h"
#include "runtime/id_source.h"

namespace chela::testing {

// A clock that moves only when told.
class ManualClock final : public runtime::Clock {
 public:
  UnixMs now() const override { return now_; }
  SteadyTime steady() const override { return steady_; }
  void advance(std::chrono::milliseconds by) {
    now_ += by.count();
    steady_ += by;
  }

 private:
  UnixMs now_ = 1'767'225'600'000;  // 2026-01-01T00:00:00Z
  SteadyTime steady_{};
};

// An event loop in virtual time: when nothing is queued, run_until() jumps to the next timer. It waits for posts of other
// threads only while neither callbacks nor timers are left.
class ManualLoop final : public runtime::EventLoop {
 public:
  void post(runtime::Callback callback) override;
  runtime::TimerId call_at(SteadyTime when, runtime::Callback callback) override;
  bool cancel(runtime::TimerId timer) override;
  const runtime::Clock& clock() const override { return clock_; }
  void run_until(const std::function<bool()>& done) override;

  // Runs what is queued and due now, without moving time.
  void run_ready();
  // Moves time forward, firing timers on the way.
  void advance(std::chrono::milliseconds by);
  ManualClock& manual_clock() { return clock_; }

 private:
  bool run_one();
  bool fire_due();
  bool jump();

  ManualClock clock_;
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<runtime::Callback> queue_;
  std::multimap<SteadyTime, std::pair<runtime::TimerId, runtime::Callback>> timers_;
  runtime::TimerId last_id_ = 0;
};

// Ids 00000000-0000-7000-8000-000000000001 and on; random() counts up.
class CountingIds final : public runtime::IdSource {
 public:
  std::string next() override;
  std::uint64_t random() override { return ++randoms_; }

 private:
  std::uint64_t ids_ = 0;
  std::uint64_t randoms_ = 0;
};

}  // namespace chela::testing
