#include "runtime/asio_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <map>
#include <unordered_map>

namespace chela::runtime {

// All timers of the process share one Asio timer, armed for the earliest of them.
struct AsioLoop::State {
  SystemClock clock;
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
  boost::asio::steady_timer timer{context};
  std::multimap<SteadyTime, std::pair<TimerId, Callback>> queue;
  std::unordered_map<TimerId, decltype(queue)::iterator> by_id;
  TimerId last_id = 0;

  void arm() {
    if (queue.empty()) return;
    timer.expires_at(queue.begin()->first);
    timer.async_wait([this](const boost::system::error_code& ec) {
      if (!ec) fire();
    });
  }

  void fire() {
    const SteadyTime now = clock.steady();
    while (!queue.empty() && queue.begin()->first <= now) {
      auto [id, callback] = std::move(queue.begin()->second);
      by_id.erase(id);
      queue.erase(queue.begin());
      callback();
    }
    arm();
  }
};

AsioLoop::AsioLoop() : state_(std::make_unique<State>()) {}
AsioLoop::~AsioLoop() = default;

void AsioLoop::post(Callback callback) { boost::asio::post(state_->context, std::move(callback)); }

TimerId AsioLoop::call_at(SteadyTime when, Callback callback) {
  const TimerId id = ++state_->last_id;
  const auto at = state_->queue.emplace(when, std::make_pair(id, std::move(callback)));
  state_->by_id.emplace(id, at);
  if (at == state_->queue.begin()) state_->arm();
  return id;
}

bool AsioLoop::cancel(TimerId timer) {
  const auto found = state_->by_id.find(timer);
  if (found == state_->by_id.end()) return false;
  state_->queue.erase(found->second);
  state_->by_id.erase(found);
  return true;
}

const Clock& AsioLoop::clock() const { return state_->clock; }

void AsioLoop::run_until(const std::function<bool()>& done) {
  while (!done()) state_->context.run_one();
}

boost::asio::io_context& AsioLoop::context() { return state_->context; }

}  // namespace chela::runtime
