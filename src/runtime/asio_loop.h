#pragma once

#include <memory>

#include "runtime/event_loop.h"

namespace boost::asio {
class io_context;
}

namespace chela::runtime {

// The event loop of the program, over Boost.Asio. net/ reaches the io_context for its sockets; nobody else needs it.
class AsioLoop final : public EventLoop {
 public:
  AsioLoop();
  ~AsioLoop() override;

  void post(Callback callback) override;
  TimerId call_at(SteadyTime when, Callback callback) override;
  bool cancel(TimerId timer) override;
  const Clock& clock() const override;
  void run_until(const std::function<bool()>& done) override;

  boost::asio::io_context& context();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chela::runtime
