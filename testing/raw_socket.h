#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace chela::testing {

// A blocking socket for tests that speak a protocol byte by byte, in a thread of their own beside the loop under test. Reads and
// writes give up after ten seconds, so that a failing test ends. Errors show as short results.
class RawSocket {
 public:
  explicit RawSocket(int fd);
  RawSocket(RawSocket&& other) noexcept;
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket();

  static RawSocket connect_tcp(std::uint16_t port);  // loopback
  static RawSocket connect_unix(const std::string& path);
  // With a small receive buffer, for a client that reads slowly.
  static RawSocket connect_slow(std::uint16_t port);

  bool connected() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  bool send(std::string_view bytes);
  // Reads until the text has come or the connection ends; gives all that was read and not given before.
  std::string read_until(std::string_view text);
  std::string read_to_end();
  // What is there, at least a byte; empty at the end.
  std::string read_some();
  // One HTTP response with Content-Length, head and body.
  std::string read_response();
  void shutdown_send();
  void close();
  // Closes so that the peer sees a reset.
  void reset();

 private:
  bool read_more();
  std::string take(size_t bytes);

  int fd_ = -1;
  std::string buffer_;
};

// Listens on loopback and gives every connection to a script, one after the other, in its own thread: a server that does what no
// proper server does. The destructor stops accepting and waits for the running script.
class RawServer {
 public:
  using Script = std::function<void(RawSocket&)>;
  explicit RawServer(Script script);
  ~RawServer();
  std::uint16_t port() const { return port_; }

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace chela::testing
