#include "net/http_connection.h"

#include <ctime>

#include "net/http_exchange.h"

namespace chela::net {

HttpServerCore::HttpServerCore(runtime::AsioLoop& l, HttpServerOptions o, HttpHandler h)
    : loop(l), options(std::move(o)), handler(std::move(h)), handlers(l) {
  if (!options.body_limit) options.body_limit = [](std::string_view) { return kMaxBodyBytes; };
}

std::string_view HttpServerCore::date() {
  const std::time_t second = loop.clock().now() / 1000;
  if (second != date_second) {
    date_second = second;
    std::tm utc{};
    gmtime_r(&second, &utc);
    char text[64];
    date_text.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc));
  }
  return date_text;
}

std::string HttpServerCore::refusal_bytes(const Refusal& refusal) {
  const HttpResponse response = options.refusal ? options.refusal(refusal.status, refusal.error, refusal.path)
                                                : error_response(refusal);
  std::string out;
  const Result<> head = append_head(out, {.status = response.status,
                                          .headers = response.headers,
                                          .length = response.body.size(),
                                          .keep_alive = KeepAlive::kNo,
                                          .date = date()});
  CHELA_CHECK(head.has_value(), "the server's own headers are well-formed");
  return out + response.body;
}

Refusal connection_refusal(std::string path) {
  return {503,
          Error{.code = Code::kUnavailable,
                .message = "too many connections; try again shortly",
                .retry_after = 1s},
          std::move(path)};
}

namespace {

// The group's task keeps alive what it needs: the server may be gone from its owner's hands, not from here.
Task<> run_handler(std::shared_ptr<HttpServerCore> core, std::shared_ptr<HttpExchange> exchange) {
  co_await core->handler(exchange);
  exchange->handler_returned();
}

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<HttpServerCore> core, std::shared_ptr<SocketStream> stream,
                               std::string peer, Transport transport)
    : core_(std::move(core)), stream_(std::move(stream)), peer_(std::move(peer)), transport_(transport) {}

void HttpConnection::start() {
  stream_->on_closed([self = shared_from_this()] { self->closed(); });
  set_deadline(core_->options.idle_timeout);
  wait_readable();
}

void HttpConnection::start_refused() {
  state_ = State::kRefused;
  counted_as_refused_ = true;
  ++core_->refused;
  stream_->on_closed([self = shared_from_this()] { self->closed(); });
  set_deadline(core_->options.refused_request_wait);
  wait_readable();
}

void HttpConnection::stop() {
  switch (state_) {
    case State::kIdle:
    case State::kRefused:
    case State::kReading:
      // The end of the last answer may still be on its way.
      if (stream_->pending() > 0) return linger();
      stream_->close();
      return;
    case State::kHandling:
    case State::kHandedOver:
      if (answered_) return linger();
      gone_.request_stop();
      return;
    case State::kClosing:
    case State::kLingering:
    case State::kClosed:
      return;
  }
}

void HttpConnection::wait_readable() {
  stream_->wait_readable([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->readable();
  });
}

void HttpConnection::readable() {
  if (state_ == State::kHandedOver) return;
  const SocketStream::Read got = stream_->read(core_->scratch);
  switch (got.state) {
    case SocketStream::ReadState::kWouldBlock:
      break;
    case SocketStream::ReadState::kBroken:
      stream_->close();
      return;
    case SocketStream::ReadState::kEnd:
      end_of_input();
      return;
    case SocketStream::ReadState::kData:
      received({core_->scratch.data(), got.bytes});
      break;
  }
  read_on();
}

bool HttpConnection::wants_more() const {
  switch (state_) {
    case State::kHandling:
      if (deaf_) return false;
      if (body_) return droppable_ || body_->ahead() < kMaxBodyAhead;
      return ahead_.size() < kMaxPipelinedBytes;
    case State::kLingering:  // the stream reads for itself
    case State::kHandedOver:
    case State::kClosed:
      return false;
    case State::kIdle:
    case State::kRefused:
    case State::kReading:
    case State::kClosing:
      return true;
  }
  return false;
}

void HttpConnection::read_on() {
  if (stream_->closed()) return;
  const bool more = wants_more();
  // The time of a client runs while it is its turn; for a body that is dropped it has run since that began.
  if (body_ && (!more || continue_owed_)) {
    pace_->pause(core_->loop.clock().steady());
    deadline_.reset();
  } else if (body_ && !droppable_) {
    set_deadline_at(pace_->wait(core_->loop.clock().steady()));
  }
  if (more) wait_readable();
}

void HttpConnection::received(std::string_view bytes) {
  switch (state_) {
    case State::kIdle:
      state_ = State::kReading;
      request_began_ = core_->loop.clock().steady();
      set_deadline(std::min(core_->options.header_timeout, core_->options.request_timeout));
      if (!ahead_.empty()) {
        const std::string joined = std::exchange(ahead_, {}).append(bytes);
        consume(joined);
        return;
      }
      [[fallthrough]];
    case State::kReading:
    case State::kRefused:
      consume(bytes);
      return;
    case State::kHandling:
      if (!body_) {
        ahead_ += bytes;
      } else if (droppable_ && bytes.size() > *droppable_) {
        linger();
      } else {
        if (droppable_) *droppable_ -= bytes.size();
        pace_->came(core_->loop.clock().steady(), bytes.size());
        take_body(parser_->feed(bytes));
      }
      return;
    case State::kClosing:
    case State::kLingering:
    case State::kHandedOver:
    case State::kClosed:
      return;
  }
}

// A client that shut down its sending side may still read, so its response is sent; its handler is told, for most have gone.
void HttpConnection::end_of_input() {
  input_ended_ = true;
  if (state_ == State::kHandling) {
    if (body_)
      cut_body({.code = Code::kUnavailable, .message = "the client has gone before its request was whole"});
    gone_.request_stop();
  } else if (state_ != State::kClosing) {
    stream_->close();
  }
}

void HttpConnection::consume(std::string_view bytes) {
  if (!parser_) {
    parser_ = std::make_unique<RequestParser>(
        RequestParser::Limits{.max_header_bytes = core_->options.max_header_bytes,
                              .body_limit = core_->options.body_limit,
                              .stream_limit = core_->options.stream_limit});
  }
  const RequestParser::State state = parser_->feed(bytes);
  if (state_ == State::kRefused) {
    const bool over = state != RequestParser::State::kNeedMore;
    if (over || !parser_->path().empty()) refuse(connection_refusal(parser_->path()));
    return;
  }
  if (state == RequestParser::State::kRefused) {
    refuse(parser_->refusal());
  } else if (state == RequestParser::State::kDone || (parser_->head_done() && parser_->streams())) {
    dispatch(state);
  } else if (parser_->head_done()) {
    set_deadline_at(request_began_ + core_->options.request_timeout);
    if (parser_->take_continue()) stream_->send(kContinue);
  }
}

void HttpConnection::dispatch(RequestParser::State state) {
  state_ = State::kHandling;
  deadline_.reset();
  gone_ = std::stop_source();
  responding_ = false;
  HttpExchange::Start start{.connection = shared_from_this(),
                            .body = nullptr,
                            .gone = gone_,
                            .keep_alive = parser_->keep_alive(),
                            .minor_version = parser_->minor_version()};
  HttpRequest request = parser_->take_request();
  request.peer = peer_;
  request.transport = transport_;
  const bool whole = state == RequestParser::State::kDone;
  if (parser_->streams() && (!whole || parser_->body_ahead() > 0)) {
    start.body = body_ = std::make_shared<IncomingBody>(core_->loop);
    pace_.emplace(core_->options.body_idle_timeout);
    body_->on_wanted([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->body_wanted();
    });
    continue_owed_ = parser_->take_continue() && parser_->body_ahead() == 0;
    take_body(state);
  } else {
    ahead_ = parser_->take_rest();
    parser_.reset();
  }
  core_->handlers.spawn(run_handler(core_, std::make_shared<HttpExchange>(start, std::move(request))));
}

// The parser has read on in the body.
void HttpConnection::take_body(RequestParser::State state) {
  if (state == RequestParser::State::kRefused) return cut_body(parser_->refusal().error);
  body_->add(parser_->take_body());
  if (state != RequestParser::State::kDone) return;
  ahead_ = parser_->take_rest();
  parser_.reset();
  deadline_.reset();
  continue_owed_ = false;
  droppable_.reset();
  std::exchange(body_, nullptr)->finish();
  if (answered_) request_done(*std::exchange(answered_, {}));
}

// Where the next request begins nobody can know then: the connection ends with the response to this one.
void HttpConnection::cut_body(Error why) {
  deaf_ = true;
  deadline_.reset();
  parser_.reset();
  std::exchange(body_, nullptr)->cut(std::move(why));
  if (answered_) linger();
}

void HttpConnection::body_wanted() {
  if (!body_) return;
  // After its beginning the client takes nothing for part of the way but the response.
  if (std::exchange(continue_owed_, false) && !responding_) stream_->send(kContinue);
  read_on();
}

void HttpConnection::body_dropped(const IncomingBody& body) {
  if (body_.get() != &body || !answered_ || stream_->closed()) return;
  if (continue_owed_ || parser_->missing().value_or(0) > kMaxDroppedBody) return linger();
  if (*answered_ == KeepAlive::kNo || core_->stopping) return linger(kMaxDroppedBody);
  droppable_ = kMaxDroppedBody;
  set_deadline(core_->options.body_idle_timeout);
  parser_->drop_body();
  read_on();
}

bool HttpConnection::response_begins() {
  responding_ = true;
  if (deaf_) return false;
  return !body_ || !(continue_owed_ || parser_->missing().value_or(0) > kMaxDroppedBody);
}

void HttpConnection::response_done(KeepAlive keep_alive) {
  gone_ = std::stop_source(std::nostopstate);
  if (state_ != State::kHandling || stream_->closed()) return;
  if (deaf_) return linger();
  if (body_) {
    answered_ = keep_alive;
  } else {
    request_done(keep_alive);
  }
}

void HttpConnection::request_done(KeepAlive keep_alive) {
  if (keep_alive == KeepAlive::kNo || input_ended_ || core_->stopping) {
    state_ = State::kClosing;
    stream_->finish([weak = stream_->weak_from_this()] {
      if (const auto stream = weak.lock()) stream->close();
    });
    return;
  }
  state_ = State::kIdle;
  set_deadline(core_->options.idle_timeout);
  // Through the loop: a pipeline of many requests must not nest handlers.
  core_->loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->next();
  });
}

void HttpConnection::next() {
  if (state_ != State::kIdle || stream_->closed()) return;
  if (!ahead_.empty()) received({});
  read_on();
}

void HttpConnection::refuse(const Refusal& refusal) {
  stream_->send(core_->refusal_bytes(refusal));
  linger();
}

// What the client still sends is dropped for a while, so that it can read what it was told.
void HttpConnection::linger(size_t most) {
  if (body_)
    std::exchange(body_, nullptr)->cut({.code = Code::kUnavailable, .message = "the request is over"});
  parser_.reset();  // not before a refusal is sent: it may be its own
  state_ = State::kLingering;
  deadline_.reset();
  stream_->linger({.timeout = core_->options.linger_timeout, .max_bytes = most});
}

std::string HttpConnection::hand_over() {
  state_ = State::kHandedOver;
  stream_->stop_reading();
  return std::exchange(ahead_, {});
}

void HttpConnection::closed() {
  state_ = State::kClosed;
  parser_.reset();
  if (timer_) core_->loop.cancel(*std::exchange(timer_, {}));
  if (body_)
    std::exchange(body_, nullptr)->cut({.code = Code::kUnavailable, .message = "the client has gone"});
  gone_.request_stop();
  if (std::exchange(counted_as_refused_, false)) --core_->refused;
  core_->connections.erase(shared_from_this());
  if (core_->connections.empty() && core_->all_closed) core_->all_closed->resolve(true);
}

// Deadlines move with every request; the timer does not: it looks where the deadline is when it fires.
void HttpConnection::set_deadline(std::chrono::milliseconds from_now) {
  set_deadline_at(core_->loop.clock().steady() + from_now);
}

void HttpConnection::set_deadline_at(SteadyTime when) {
  deadline_ = when;
  if (timer_ && when < timer_due_) core_->loop.cancel(*std::exchange(timer_, {}));
  if (!timer_) arm_timer();
}

void HttpConnection::arm_timer() {
  timer_due_ = *deadline_;
  timer_ = core_->loop.call_at(*deadline_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->timer_.reset();
    if (!self->deadline_) return;
    if (self->core_->loop.clock().steady() < *self->deadline_) {
      self->arm_timer();
    } else {
      self->deadline_passed();
    }
  });
}

void HttpConnection::deadline_passed() {
  deadline_.reset();
  if (state_ == State::kReading) {
    refuse({408, Error{.code = Code::kTimeout, .message = "the request did not arrive in time"},
            parser_ ? parser_->path() : ""});
  } else if (state_ == State::kRefused) {
    refuse(connection_refusal(parser_ ? parser_->path() : ""));
  } else if (state_ == State::kHandling && body_) {
    cut_body({.code = Code::kTimeout, .message = "the rest of the request did not arrive in time"});
  } else {
    stream_->close();
  }
}

}  // namespace chela::net
