#pragma once

#include <memory>

#include "runtime/epoll.h"
#include "runtime/event_loop.h"

namespace boost::asio {
class io_context;
}

namespace chela::runtime {

// The event loop of the program, over epoll. net/ watches its sockets with epoll(); nobody else needs it. What Boost.Beast posts while it
// shakes hands runs here too, by context().
class AsioLoop final : public EventLoop {
 public:
  // How many callbacks run before the descriptors are looked at again, should there be so many.
  static constexpr size_t kCallbacksBetweenLooks = 256;

  AsioLoop();
  ~AsioLoop() override;

  void post(Callback callback) override;
  TimerId call_at(SteadyTime when, Callback callback) override;
  bool cancel(TimerId timer) override;
  const Clock& clock() const override;
  void run_until(const std::function<bool()>& done) override;

  Epoll& epoll();
  // For an operation that begins before the loop goes on, has work at the context until it ends, and waits only for callbacks of this
  // loop: sockets and timers of Asio's own would not be heard of.
  boost::asio::io_context& context();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chela::runtime
