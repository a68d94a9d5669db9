#include "net/fd_watch.h"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <utility>

#include "base/check.h"

namespace chela::net {

// One operation of Asio is pending per direction as long as it has not fired; the callback to run then can be replaced or taken away
// meanwhile, so that an operation that fires late finds nothing to do.
struct FdWatch::State : std::enable_shared_from_this<FdWatch::State> {
  State(runtime::AsioLoop& loop, int fd) : descriptor(loop.context()) {
    boost::system::error_code ec;
    descriptor.assign(fd, ec);
    CHELA_CHECK(!ec, "epoll does not take a socket");
  }
  ~State() { descriptor.release(); }  // the descriptor is somebody else's to close

  struct Direction {
    runtime::Callback callback;
    bool pending = false;
  };

  void arm(Ready what) {
    const bool read = what == Ready::kRead;
    direction(what).pending = true;
    descriptor.async_wait(read ? boost::asio::posix::descriptor_base::wait_read
                               : boost::asio::posix::descriptor_base::wait_write,
                          [self = shared_from_this(), what](const boost::system::error_code&) {
                            Direction& d = self->direction(what);
                            d.pending = false;
                            if (self->released) return;
                            // The callback may release or destroy the watch, or wait again.
                            if (runtime::Callback callback = std::exchange(d.callback, {})) callback();
                          });
  }

  Direction& direction(Ready what) { return directions[what == Ready::kRead ? 0 : 1]; }

  boost::asio::posix::stream_descriptor descriptor;
  std::array<Direction, 2> directions;
  bool released = false;
};

FdWatch::FdWatch(runtime::AsioLoop& loop, int fd) : state_(std::make_shared<State>(loop, fd)) {}

FdWatch::~FdWatch() { release(); }

void FdWatch::wait(Ready what, runtime::Callback callback) {
  if (state_->released) return;
  State::Direction& d = state_->direction(what);
  d.callback = std::move(callback);
  if (!d.pending) state_->arm(what);
}

void FdWatch::cancel(Ready what) { state_->direction(what).callback = nullptr; }

void FdWatch::release() {
  if (std::exchange(state_->released, true)) return;
  for (State::Direction& d : state_->directions) d.callback = nullptr;
  state_->descriptor.release();
}

}  // namespace chela::net
