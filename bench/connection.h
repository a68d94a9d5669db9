#pragma once

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "bench/arguments.h"

namespace chela::bench {

[[noreturn]] inline void die(const char* what) {
  std::fprintf(stderr, "%s: %s\n", ::program_invocation_short_name, what);
  std::exit(1);
}

// An answer that takes longer is lost.
inline constexpr int kPatienceMs = 20'000;

// A TCP connection to 127.0.0.1 that blocks, with what was read and what is to be written: for measuring, not for use. What is queued
// leaves with one call.
class Connection {
 public:
  explicit Connection(int port) : fd_(connect_to(port)) {
    if (fd_ < 0) die("cannot connect");
  }
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // To append to.
  std::string& out() { return out_; }
  // Reads what comes meanwhile, so that two ends that write much do not wait for each other; views into rest() end with it.
  void flush() {
    for (size_t sent = 0; sent < out_.size();) {
      const ssize_t n = ::send(fd_, out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) {
        sent += static_cast<size_t>(n);
      } else if (n < 0 && errno == EAGAIN) {
        if ((wait_for(POLLIN | POLLOUT) & POLLIN) == 0) continue;
        read();
        ahead_ = true;
      } else {
        throw std::runtime_error("the connection broke");
      }
    }
    out_.clear();
  }

  // What was read and not yet taken. Views into it end with the next fill().
  std::string_view rest() const { return std::string_view(in_).substr(at_); }
  void take(size_t bytes) { at_ += bytes; }
  // Waits for more, unless flush() has read some.
  void fill() {
    if (!std::exchange(ahead_, false)) read();
  }
  // Whether flush() has read something since the last fill().
  bool ahead() const { return ahead_; }

  int fd() const { return fd_; }
  void shut() { ::shutdown(fd_, SHUT_RDWR); }

 private:
  static constexpr size_t kChunk = 256 * 1024;

  void read() {
    wait_for(POLLIN);
    in_.erase(0, std::exchange(at_, 0));
    const size_t before = in_.size();
    in_.resize(before + kChunk);
    const ssize_t n = ::recv(fd_, in_.data() + before, kChunk, 0);
    in_.resize(before + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n <= 0) throw std::runtime_error("the connection ended");
  }

  short wait_for(short events) const {
    pollfd waiting{.fd = fd_, .events = events, .revents = 0};
    if (::poll(&waiting, 1, kPatienceMs) <= 0) throw std::runtime_error("an answer is lost");
    return waiting.revents;
  }

  int fd_;
  std::string out_;
  std::string in_;
  size_t at_ = 0;
  bool ahead_ = false;
};

}  // namespace chela::bench
