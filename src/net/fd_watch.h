#pragma once

#include "runtime/asio_loop.h"

namespace chela::net {

enum class Ready { kRead, kWrite };

// Tells when a file descriptor can be read or written. Does not own the descriptor, which must stay open until release() or the
// destructor; after that no callback comes any more. Loop thread only.
class FdWatch {
 public:
  FdWatch(runtime::AsioLoop& loop, int fd);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  // Calls back once when the descriptor is ready; an error or a hang-up counts as ready, for the following call reports it. A second
  // wait for the same thing while one is pending replaces its callback.
  void wait(Ready what, runtime::Callback callback);
  void cancel(Ready what);
  void release();

 private:
  runtime::Epoll& epoll_;
  const runtime::Epoll::Key key_;
};

}  // namespace chela::net
