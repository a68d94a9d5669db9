#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/fd_watch.h"
#include "net/http.h"
#include "net/unique_fd.h"
#include "runtime/asio_loop.h"

namespace chela::net {

struct Accepted {
  UniqueFd socket;  // non-blocking
  std::string peer;
  Transport transport;
};

// A listening socket that gives each connection to a callback. Closing it removes a Unix socket's file. Loop thread only.
class Listener {
 public:
  using OnAccept = std::function<void(Accepted)>;

  static Result<std::unique_ptr<Listener>> tcp(runtime::AsioLoop& loop, const std::string& host,
                                               std::uint16_t port, OnAccept on_accept);
  static Result<std::unique_ptr<Listener>> unix_socket(runtime::AsioLoop& loop, const std::string& path,
                                                       OnAccept on_accept);
  ~Listener();

  std::uint16_t port() const { return port_; }  // of a TCP listener

 private:
  Listener(runtime::AsioLoop& loop, UniqueFd fd, OnAccept on_accept);
  void wait();
  void accept_ready();

  runtime::AsioLoop& loop_;
  UniqueFd fd_;
  FdWatch watch_;
  OnAccept on_accept_;
  std::uint16_t port_ = 0;
  std::string unlink_path_;  // of a Unix listener
  std::optional<runtime::TimerId> retry_;
};

}  // namespace chela::net
