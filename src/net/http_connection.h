#pragma once

#include <array>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>

#include "net/http_parser.h"
#include "net/http_server.h"
#include "net/http_wire.h"
#include "net/socket_stream.h"
#include "runtime/task_group.h"

namespace chela::net {

class HttpConnection;

// What all connections of one server share.
struct HttpServerCore {
  HttpServerCore(runtime::AsioLoop& l, HttpServerOptions o, HttpHandler h);

  std::string_view date();  // the Date header's value; made once a second
  // The whole answer of a refusal, in the form that the options give it.
  std::string refusal_bytes(const Refusal& refusal);

  runtime::AsioLoop& loop;
  HttpServerOptions options;
  HttpHandler handler;
  runtime::TaskGroup handlers;
  std::unordered_set<std::shared_ptr<HttpConnection>> connections;
  size_t refused = 0;  // of the connections: those past the limit
  bool stopping = false;
  std::optional<runtime::Completion<bool>> all_closed;  // stop() waits for it
  std::array<char, 64 * 1024> scratch;                  // where reads land: connections have no read buffer
  std::string date_text;
  std::int64_t date_second = -1;
};

// 503: there are as many connections as there may be.
Refusal connection_refusal(std::string path);

// One client. Reads requests one after the other, hands each to the handler and sends the responses in order. Callbacks, not a
// coroutine: an idle connection is this object and its socket.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<HttpServerCore> core, std::shared_ptr<SocketStream> stream, std::string peer,
                 Transport transport);

  void start();
  // For a connection past the limit: it hears the path, answers 503 and closes.
  void start_refused();
  // The server stops: an idle connection closes, a busy one is told and closes after its response.
  void stop();
  void abort() { stream_->close(); }

  // For the exchange.
  HttpServerCore& core() { return *core_; }
  const std::shared_ptr<SocketStream>& stream() { return stream_; }
  // The response is complete in the write buffer.
  void response_done(KeepAlive keep_alive);
  // Ends HTTP on this connection; gives what was read past the request.
  std::string hand_over();

 private:
  enum class State { kIdle, kRefused, kReading, kHandling, kClosing, kLingering, kHandedOver, kClosed };

  void wait_readable();
  void readable();
  void received(std::string_view bytes);
  void end_of_input();
  void consume(std::string_view bytes);
  void dispatch();
  void next();
  void refuse(const Refusal& refusal);
  void closed();

  void set_deadline(std::chrono::milliseconds from_now);
  void set_deadline_at(SteadyTime when);
  void arm_timer();
  void deadline_passed();

  const std::shared_ptr<HttpServerCore> core_;
  const std::shared_ptr<SocketStream> stream_;
  const std::string peer_;
  const Transport transport_;
  State state_ = State::kIdle;
  bool input_ended_ = false;
  std::unique_ptr<RequestParser> parser_;
  std::string ahead_;                        // read while a request is handled
  std::stop_source gone_{std::nostopstate};  // of the request that is being handled
  bool counted_as_refused_ = false;
  SteadyTime request_began_{};
  std::optional<SteadyTime> deadline_;
  std::optional<runtime::TimerId> timer_;
};

}  // namespace chela::net
