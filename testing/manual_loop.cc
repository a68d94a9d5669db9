#include "testing/manual_loop.h"

#include <fmt/format.h>

#include "base/check.h"

namespace chela::testing {

void ManualLoop::post(runtime::Callback callback) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(callback));
  }
  posted_.notify_one();
}

runtime::TimerId ManualLoop::call_at(SteadyTime when, runtime::Callback callback) {
  timers_.emplace(when, std::make_pair(++last_id_, std::move(callback)));
  return last_id_;
}

bool ManualLoop::cancel(runtime::TimerId timer) {
  return std::erase_if(timers_, [timer](const auto& entry) { return entry.second.first == timer; }) > 0;
}

bool ManualLoop::run_one() {
  runtime::Callback callback;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return false;
    callback = std::move(queue_.front());
    queue_.pop_front();
  }
  callback();
  return true;
}

bool ManualLoop::fire_due() {
  if (timers_.empty() || timers_.begin()->first > clock_.steady()) return false;
  runtime::Callback callback = std::move(timers_.begin()->second.second);
  timers_.erase(timers_.begin());
  callback();
  return true;
}

bool ManualLoop::jump() {
  if (timers_.empty()) return false;
  const auto by = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - clock_.steady());
  if (by.count() > 0) clock_.advance(by);
  return fire_due();
}

void ManualLoop::run_ready() {
  while (run_one() || fire_due()) {
  }
}

void ManualLoop::advance(std::chrono::milliseconds by) {
  const SteadyTime end = clock_.steady() + by;
  run_ready();
  while (!timers_.empty() && timers_.begin()->first <= end) {
    jump();
    run_ready();
  }
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - clock_.steady());
  if (rest.count() > 0) clock_.advance(rest);
}

void ManualLoop::run_until(const std::function<bool()>& done) {
  while (!done()) {
    if (run_one() || fire_due()) continue;
    if (jump()) continue;
    std::unique_lock lock(mutex_);
    const bool came = posted_.wait_for(lock, std::chrono::seconds(30), [this] { return !queue_.empty(); });
    CHELA_CHECK(came, "a test waits for something that never happens");
  }
}

std::string CountingIds::next() { return fmt::format("00000000-0000-7000-8000-{:012}", ++ids_); }

}  // namespace chela::testing
