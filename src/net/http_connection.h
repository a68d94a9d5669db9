#pragma once

#include <array>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>

#include "net/body_pace.h"
#include "net/http_parser.h"
#include "net/http_server.h"
#include "net/http_wire.h"
#include "net/incoming_body.h"
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
  // The response begins: whether the connection can go on after it, by what is missing of the request.
  bool response_begins();
  // The response is complete in the write buffer.
  void response_done(KeepAlive keep_alive);
  // The response is complete and nobody reads the rest of the body.
  void body_dropped(const IncomingBody& body);
  // Whether the request has come to its end.
  bool request_whole() const { return !body_ && !deaf_; }
  // Ends HTTP on this connection; gives what was read past the request.
  std::string hand_over();

 private:
  enum class State { kIdle, kRefused, kReading, kHandling, kClosing, kLingering, kHandedOver, kClosed };

  void wait_readable();
  void readable();
  void received(std::string_view bytes);
  void end_of_input();
  void consume(std::string_view bytes);
  void dispatch(RequestParser::State state);
  void next();
  void request_done(KeepAlive keep_alive);

  bool wants_more() const;
  void read_on();
  void body_wanted();
  void take_body(RequestParser::State state);
  void cut_body(Error why);
  void linger(size_t most = kMaxLingerBytes);
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
  std::shared_ptr<IncomingBody> body_;       // of it, while it comes; the parser is there as long
  std::optional<BodyPace> pace_;             // of it
  std::optional<KeepAlive> answered_;        // its response is complete, its body is not
  std::optional<size_t> droppable_;          // nobody wants the rest of it: how much may still come
  bool continue_owed_ = false;               // its client waits to be told to send the body
  bool responding_ = false;                  // its response has begun
  bool deaf_ = false;                        // its body was cut: what comes now means nothing
  bool counted_as_refused_ = false;
  SteadyTime request_began_{};
  std::optional<SteadyTime> deadline_;
  std::optional<runtime::TimerId> timer_;
  SteadyTime timer_due_{};
};

}  // namespace chela::net
