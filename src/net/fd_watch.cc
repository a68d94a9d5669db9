#include "net/fd_watch.h"

#include <utility>

namespace chela::net {
namespace {

runtime::Epoll::Side side_of(Ready what) {
  return what == Ready::kRead ? runtime::Epoll::Side::kRead : runtime::Epoll::Side::kWrite;
}

}  // namespace

FdWatch::FdWatch(runtime::AsioLoop& loop, int fd) : epoll_(loop.epoll()), key_(epoll_.add(fd)) {}

FdWatch::~FdWatch() { release(); }

void FdWatch::wait(Ready what, runtime::Callback callback) {
  epoll_.wait(key_, side_of(what), std::move(callback));
}

void FdWatch::cancel(Ready what) { epoll_.cancel(key_, side_of(what)); }

void FdWatch::release() { epoll_.remove(key_); }

}  // namespace chela::net
