#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/fd_watch.h"
#include "net/tls_client.h"
#include "net/unique_fd.h"
#include "runtime/asio_loop.h"
#include "runtime/completion.h"
#include "runtime/task.h"

namespace chela::net {

// A connected non-blocking socket, with or without TLS, with one write buffer: everything sent during a turn of the loop leaves with one system call at its
// end. Reading has no buffer of its own, so an idle connection costs little more than its descriptor. Loop thread only; shared by the
// connection's protocol and what is queued on the loop.
class SocketStream : public std::enable_shared_from_this<SocketStream> {
 public:
  struct Limits {
    size_t max_unsent;                      // what has_room() goes by
    std::chrono::milliseconds write_stall;  // a peer that takes nothing for so long is cut off
  };

  // `tls` is over the same descriptor, its handshake done.
  SocketStream(runtime::AsioLoop& loop, UniqueFd fd, Limits limits, std::unique_ptr<TlsLink> tls = nullptr);
  ~SocketStream();

  // Calls back once, through the loop, when the stream has closed for whatever reason. Set before anything else.
  void on_closed(runtime::Callback callback) { on_closed_ = std::move(callback); }
  bool closed() const { return !fd_.valid(); }

  enum class ReadState { kData, kWouldBlock, kEnd, kBroken };
  struct Read {
    ReadState state;
    size_t bytes = 0;
  };
  Read read(std::span<char> into);
  // Calls back once when read() has something to say, which a close is too.
  void wait_readable(runtime::Callback callback);
  void stop_reading();

  // Appends to the write buffer. What is sent after a close is dropped.
  void send_parts(std::initializer_list<std::string_view> parts);
  void send(std::string_view bytes) { send_parts({bytes}); }
  size_t pending() const { return out_.size() - sent_; }
  bool has_room(size_t bytes) const { return pending() + bytes <= limits_.max_unsent; }
  // Waits until pending() <= below. kUnavailable when the stream has closed, kCancelled on stop.
  Task<Result<>> drained(size_t below, std::stop_token stop);

  // Ends the sending side once all is sent, then calls back (not when the stream closes before). Later send()s are dropped.
  void finish(runtime::Callback then);
  struct Linger {
    std::chrono::milliseconds timeout;
    size_t max_bytes;  // what the peer may still send meanwhile
  };
  // Ends the sending side once all is sent and drops what the peer still sends, until it ends its side too or passes a limit; then
  // closes. A socket closed with unread input resets the connection, and the peer may lose what was sent last.
  void linger(Linger limits);
  // Closes at once; unsent bytes are lost.
  void close();

 private:
  Read read_tls(std::span<char> into);
  enum class Wrote { kSome, kWouldBlock, kBroken };
  Wrote write_some();
  void wake_reader();
  void schedule_flush();
  void flush();
  void sent(size_t bytes);
  void watch_stall();
  void wake_waiters();
  void drop_input();

  struct Waiter {
    size_t below;
    runtime::Completion<bool> done;
  };

  runtime::AsioLoop& loop_;
  const Limits limits_;
  UniqueFd fd_;
  std::unique_ptr<TlsLink> tls_;  // null: plain
  std::optional<FdWatch> watch_;
  std::string out_;
  size_t sent_ = 0;  // the part of out_ that the kernel has
  bool flush_scheduled_ = false;
  bool finishing_ = false;
  runtime::Callback reader_;
  runtime::Callback on_finished_;
  runtime::Callback on_closed_;
  std::vector<Waiter> waiters_;
  std::optional<runtime::TimerId> stall_timer_;
  std::optional<runtime::TimerId> linger_timer_;
  size_t linger_bytes_ = 0;  // what the peer may still send
  SteadyTime last_progress_{};
};

}  // namespace chela::net
