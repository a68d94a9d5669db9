#include "bus/http/serving.h"

#include "obs/log.h"
#include "runtime/sleep.h"

namespace chela::bus::http {
namespace {

using channels::End;

// Waits for the token.
Task<> fired(runtime::EventLoop& loop, std::stop_token token) {
  const runtime::Completion<bool> done(loop);
  const std::stop_callback on_stop(token, [done] { done.resolve(true); });
  co_await done;
}

Task<Result<>> write_piece(channels::ChannelPtr channel, std::string bytes, std::stop_token stop) {
  co_return co_await channel->write({.kind = net::MessageKind::kBinary, .data = std::move(bytes)}, stop);
}

// A body that is here goes into its channel as its reader takes it.
Task<> pour(std::shared_ptr<net::Exchange> exchange, channels::ChannelPtr channel, std::stop_token stop) {
  const std::string& body = exchange->request().body;
  for (size_t at = 0; at < body.size(); at += kBodyPieceBytes) {
    if (!co_await write_piece(channel, body.substr(at, kBodyPieceBytes), stop)) {
      channel->close({.code = Code::kCancelled, .message = "the request is over"});
      co_return;
    }
  }
  channel->finish();
}

// No SDK takes the end of a cut connection for more than the end of the stream, so the text that goes beside the bytes says it.
Task<> tell_cut(channels::ChannelPtr channel, Error why, std::stop_token stop) {
  const json::Value error = json::Value::object({{"code", code_name(why.code)}, {"message", why.message}});
  (void)co_await channel->write(
      {.kind = net::MessageKind::kText,
       .data = json::write(json::Value::object({{"type", "error"}, {"error", error}}))},
      stop);
  channel->finish(std::move(why));
}

// A body that still comes does the same; its client is held back by a slow reader.
Task<> pour_on(std::shared_ptr<net::Exchange> exchange, channels::ChannelPtr channel,
               std::shared_ptr<Inflow> inflow, std::stop_token stop) {
  for (;;) {
    Result<std::optional<std::string>> piece = co_await exchange->read_body(stop);
    if (!piece) {
      inflow->cut = piece.error();
      inflow->was_cut.request_stop();
      exchange.reset();  // with nothing more to come its connection need not wait
      co_return co_await tell_cut(std::move(channel), std::move(piece.error()), stop);
    }
    if (!*piece) co_return channel->finish();
    inflow->bytes += (*piece)->size();
    while (!(*piece)->empty()) {
      std::string rest = (*piece)->size() > kBodyPieceBytes ? (*piece)->substr(kBodyPieceBytes) : "";
      if (!rest.empty()) (*piece)->resize(kBodyPieceBytes);
      if (!co_await write_piece(channel, std::exchange(**piece, std::move(rest)), stop)) {
        channel->close({.code = Code::kCancelled, .message = "the request is over"});
        co_return;
      }
    }
  }
}

std::string_view traced(const net::HttpRequest& request, std::string_view name) {
  const std::string_view value = request.headers.value_or(name);
  return value.size() <= kMaxTraceBytes ? value : std::string_view();
}

}  // namespace

Serving::Serving(HttpModule& module, std::shared_ptr<net::Exchange> exchange, Routes::Match match,
                 Permit permit)
    : module_(module),
      exchange_(std::move(exchange)),
      match_(std::move(match)),
      permit_(std::move(permit)),
      streamed_(body_kind(exchange_->request()) != BodyKind::kJson),
      on_gone_(exchange_->client_gone(),
               [this] {
                 // Who is stopped on may still be answered.
                 if (!module_.stopping_) cancel();
               }),
      on_out_of_time_(module_.out_of_time_.get_token(), [this] { cancel(); }) {}

void Serving::cancel() {
  cancel_.request_stop();
  decided_.request_stop();
}

Serving::~Serving() {
  end();
  if (timeout_) module_.loop_.cancel(*timeout_);
}

// Whoever writes into the response or waits for the body learns that it is over; a body that is being read is read to its end.
void Serving::end() {
  cancel_.request_stop();
  if (!offer_) return;
  const Error over{.code = Code::kCancelled, .message = "the request is over"};
  const channels::ChannelPtr response = offer_->channel(End::kWrite), body = offer_->channel(End::kRead);
  offer_.reset();
  if (response) response->close(over);
  if (body && !body->taken(End::kRead)) body->close(over);
}

void Serving::asked_for(End remote, const channels::ChannelPtr& channel) {
  if (remote == End::kWrite) {
    if (waiting_) waiting_->resolve(true);
    return;
  }
  const std::stop_token stop = module_.bodies_.stop_token();
  if (!streamed_) return module_.bodies_.spawn(pour(exchange_, channel, stop));
  inflow_ = std::make_shared<Inflow>();
  on_cut_.emplace(inflow_->was_cut.get_token(), [this] { decided_.request_stop(); });
  module_.bodies_.spawn(pour_on(exchange_, channel, inflow_, stop));
}

bool Serving::writes() const {
  return offer_ && offer_->channel(End::kWrite) && offer_->channel(End::kWrite)->taken(End::kWrite);
}

// A function has longer for a body that takes its time to come.
void Serving::watch_time() {
  const std::uint64_t more = inflow_ ? inflow_->bytes / kLeastBodyRate : 0;
  const SteadyTime due = began_ + module_.options_.timeout + std::chrono::seconds(more);
  if (module_.loop_.clock().steady() >= due) {
    decided_.request_stop();
    return;
  }
  timeout_ = module_.loop_.call_at(due, [this] {
    timeout_.reset();
    watch_time();
  });
}

SteadyTime Serving::deadline() const { return module_.loop_.clock().steady() + module_.options_.timeout; }

FireOptions Serving::fire_options() {
  const net::HttpRequest& request = exchange_->request();
  return {.deadline = deadline(),
          .stop = cancel_.get_token(),
          .traceparent = std::string(traced(request, "traceparent")),
          .baggage = std::string(traced(request, "baggage"))};
}

Task<> Serving::run() {
  const net::HttpRequest& request = exchange_->request();
  const Route& route = *match_.route;
  if (body_kind(request) == BodyKind::kTooLong) co_return reply_failure(too_large(kMaxJsonBytes));
  const std::vector<std::string>& everywhere = module_.options_.middleware;
  if (!everywhere.empty() && !co_await pass_middleware(everywhere)) co_return;
  offer_.emplace(module_.channels_, kBodyPieces,
                 [this](End remote, const channels::ChannelPtr& channel) { asked_for(remote, channel); });
  const Payload input = Payload::of_text(function_input(request, match_, *offer_, module_.scanner_));
  if (!route.condition.empty() && !co_await pass_condition(input)) co_return;
  for (const std::string& id : route.middleware) {
    if (const Result<> may = module_.bus_.lets_call(*route.trigger->owner, id); !may)
      co_return reply_error(may.error(), "middleware");
  }
  if (!route.middleware.empty() && !co_await pass_middleware(route.middleware)) co_return;
  began_ = module_.loop_.clock().steady();
  if (streamed_) watch_time();
  runtime::TaskGroup calls(module_.loop_);
  calls.spawn(call_function(input));
  co_await answer();
  end();
  co_await calls.join();
}

Task<bool> Serving::pass_middleware(std::span<const std::string> functions) {
  const op::Principal& principal = match_.route->trigger->rights.principal;
  const Payload input = Payload::of_text(middleware_input(exchange_->request(), match_));
  for (const std::string& id : functions) {
    op::CallContext context{.principal = principal,
                            .scope = principal.scope(),
                            .deadline = deadline(),
                            .stop = cancel_.get_token()};
    const Result<json::Value> said = co_await module_.bus_.deliver(std::move(context), id, input, {}, {});
    if (!said) {
      reply_error(said.error(), "middleware");
      co_return false;
    }
    if (said->string_or("action") != "respond") continue;
    const json::Value* answer = said->find("response");
    const Result<net::HttpResponse> response =
        response_of(answer == nullptr ? json::Value::object({{"body", nullptr}}) : *answer);
    if (response) {
      reply(*response);
    } else {
      reply_bad_response(response.error());
    }
    co_return false;
  }
  co_return true;
}

Task<bool> Serving::pass_condition(Payload input) {
  const Result<bool> met =
      co_await module_.bus_.condition_met(match_.route->trigger, std::move(input), fire_options());
  if (!met) {
    reply_error(met.error(), "condition");
  } else if (!*met) {
    reply_failure(condition_not_met());
  }
  co_return met && *met;
}

Task<> Serving::call_function(Payload input) {
  FireOptions options = fire_options();
  if (streamed_) options.deadline.reset();  // watch_time() sees to it
  Result<Payload> value =
      co_await module_.bus_.ask_trigger(match_.route->trigger, std::move(input), std::move(options));
  const bool decides = !value || value->text() != "null";
  // Its time is until its response begins.
  const bool broken = !value && value.error().code != Code::kTimeout;
  outcome_ = {.over = true, .value = std::move(value)};
  if (answered_) {
    // What has begun and failed must not look complete.
    if (broken) cancel_.request_stop();
    co_return;
  }
  const channels::ChannelPtr response = offer_ ? offer_->channel(End::kWrite) : nullptr;
  if (decides || (response && response->over().stop_requested())) {
    decided_.request_stop();
    co_return;
  }
  // The channel is a connection of its own, so its opening may be behind the function's end.
  if (!writes()) (void)co_await runtime::sleep_for(module_.loop_, kWriterWait, cancel_.get_token());
  if (!writes()) decided_.request_stop();
  if (streamed_ || answered_ || decided_.stop_requested()) co_return;
  const auto left = began_ + module_.options_.timeout - module_.loop_.clock().steady();
  (void)co_await runtime::sleep_for(
      module_.loop_, std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(left)), cancel_.get_token());
  decided_.request_stop();
}

Task<> Serving::answer() {
  if (!offer_->channel(End::kWrite)) {
    const runtime::Completion<bool> asked(module_.loop_);
    waiting_ = asked;
    const std::stop_callback on_decided(decided_.get_token(), [asked] { asked.resolve(false); });
    co_await asked;
  }
  const channels::ChannelPtr response = offer_->channel(End::kWrite);
  if (!response) co_return answer_from_value();
  co_await answer_from_channel(response);
}

Task<> Serving::answer_from_channel(channels::ChannelPtr response) {
  const std::stop_token stop = decided_.get_token();
  for (;;) {
    Result<std::optional<net::Message>> got = co_await response->read(stop);
    const bool ended = got ? !*got : response->over().stop_requested();
    if (ended && touched_) co_return reply({.status = head_.status, .headers = head_.headers, .body = {}});
    if (ended && !outcome_.over) co_await fired(module_.loop_, stop);
    if (ended || !got) co_return answer_from_value();
    net::Message& message = **got;
    if (message.kind == net::MessageKind::kBinary) {
      co_await stream_on(std::move(response), std::move(message.data));
      co_return;
    }
    touched_ = true;
    if (const Result<> done = apply_control(message.data, head_); !done)
      co_return reply_bad_response(done.error());
  }
}

// A function's value, its error, or that there is none in time.
void Serving::answer_from_value() {
  if (cancel_.stop_requested()) return give_up();
  if (!outcome_.over && inflow_ && inflow_->cut) return reply_failure(cut_body(*inflow_->cut));
  if (!outcome_.over) return reply_failure(timed_out("function"));
  const Result<Payload>& value = *outcome_.value;
  if (!value) return reply_error(value.error(), "function");
  if (value->text() == "null") return reply({.status = head_.status, .headers = head_.headers, .body = {}});
  Result<net::HttpResponse> response = response_of(*value, module_.scanner_);
  if (!response) return reply_bad_response(response.error());
  reply(std::move(*response));
}

Task<> Serving::stream_on(channels::ChannelPtr response, std::string first) {
  module_.cors_.allow(exchange_->request(), head_.headers);
  if (const Result<> begun = exchange_->begin_stream(head_.status, head_.headers); !begun)
    co_return reply_bad_response(begun.error());
  answered_ = true;
  permit_.release();
  const std::stop_token stop = cancel_.get_token();
  Result<> sent = exchange_->write(first);
  while (sent) {
    if (exchange_->pending() > kMaxUnsentResponse) {
      sent = co_await exchange_->drained(kMaxUnsentResponse / 2, stop);
      continue;
    }
    Result<std::optional<net::Message>> got = co_await response->read(stop);
    if (got && !*got) co_return exchange_->end_stream();
    if (!got) {
      sent = fail(got.error());
    } else if ((*got)->kind == net::MessageKind::kBinary) {
      sent = exchange_->write((*got)->data);
    }
  }
  log::debug("bus", "a response was cut off",
             {{"path", match_.route->path}, {"reason", sent.error().message}});
  exchange_->abort();
}

void Serving::reply(net::HttpResponse response) {
  answered_ = true;
  permit_.release();
  module_.cors_.allow(exchange_->request(), response.headers);
  exchange_->reply(std::move(response));
}

void Serving::reply_failure(const Failure& failure) {
  reply(response_of(failure, match_.route->trigger->owner.get()));
}

void Serving::give_up() {
  if (!module_.out_of_time_.stop_requested()) return exchange_->abort();
  reply_failure(stopping());
}

void Serving::reply_error(const Error& error, std::string_view what) {
  if (cancel_.stop_requested()) return give_up();
  if (error.code == Code::kTimeout && error.detail("bus_code").empty()) return reply_failure(timed_out(what));
  reply_failure(failed_call(error, logged(error)));
}

void Serving::reply_bad_response(const Error& error) { reply_failure(bad_response(error, logged(error))); }

std::string Serving::logged(const Error& error) {
  std::string id = module_.ids_.next();
  std::erase(id, '-');
  log::warn("bus", "an HTTP request failed",
            {{"error_id", id},
             {"method", match_.route->method},
             {"path", match_.route->path},
             {"function", match_.route->trigger->function_id},
             {"error", error.message}});
  return id;
}

}  // namespace chela::bus::http
