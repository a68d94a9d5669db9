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

// The request's bytes go into its channel as its reader takes them.
Task<> pour(std::shared_ptr<net::Exchange> exchange, channels::ChannelPtr channel, std::stop_token stop) {
  const std::string& body = exchange->request().body;
  for (size_t at = 0; at < body.size(); at += kBodyPieceBytes) {
    const Result<> written = co_await channel->write(
        {.kind = net::MessageKind::kBinary, .data = body.substr(at, kBodyPieceBytes)}, stop);
    if (!written) {
      channel->close({.code = Code::kCancelled, .message = "the request is over"});
      co_return;
    }
  }
  channel->finish();
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
      on_gone_(exchange_->client_gone(), [this] {
        cancel_.request_stop();
        decided_.request_stop();
      }) {}

Serving::~Serving() { end(); }

// Whoever writes into the response or waits for the body learns that it is over; a body that is being read is read to its end.
void Serving::end() {
  cancel_.request_stop();
  const Error over{.code = Code::kCancelled, .message = "the request is over"};
  if (response_) response_->close(over);
  if (body_ && !body_->taken(End::kRead)) body_->close(over);
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
  if (says_json(request) && request.body.size() > kMaxJsonBytes)
    co_return reply_failure(too_large(kMaxJsonBytes));
  if (!co_await pass_middleware(module_.options_.middleware)) co_return;
  json::Value body = json_body(request);
  body_ = module_.channels_.open(End::kRead);
  response_ = module_.channels_.open(End::kWrite);
  const Payload input(function_input(request_head(request, match_), route, std::move(body),
                                     channels::reference(*body_, End::kRead),
                                     channels::reference(*response_, End::kWrite)));
  module_.bodies_.spawn(pour(exchange_, body_, module_.bodies_.stop_token()));
  if (!co_await pass_condition(input)) co_return;
  for (const std::string& id : route.middleware) {
    if (const Result<> may = module_.bus_.lets_call(*route.trigger->owner, id); !may)
      co_return reply_error(may.error(), "middleware");
  }
  if (!co_await pass_middleware(route.middleware)) co_return;
  runtime::TaskGroup calls(module_.loop_);
  calls.spawn(call_function(input));
  co_await answer_from_channel();
  end();
  co_await calls.join();
}

Task<bool> Serving::pass_middleware(std::vector<std::string> functions) {
  const op::Principal& principal = match_.route->trigger->rights.principal;
  for (const std::string& id : functions) {
    op::CallContext context{.principal = principal,
                            .scope = principal.scope(),
                            .deadline = deadline(),
                            .stop = cancel_.get_token()};
    const Result<json::Value> said = co_await module_.bus_.call(
        std::move(context), id, middleware_input(request_head(exchange_->request(), match_)));
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
  Result<json::Value> value =
      co_await module_.bus_.run_trigger(match_.route->trigger, std::move(input), fire_options());
  const bool decides = !value || !value->is_null();
  outcome_ = {.over = true, .value = std::move(value)};
  if (answered_) {
    // What has begun and failed must not look complete.
    if (!*outcome_.value) cancel_.request_stop();
    co_return;
  }
  if (decides || response_->over().stop_requested()) {
    decided_.request_stop();
    co_return;
  }
  // The channel is a connection of its own, so its opening may be behind the function's end.
  if (!response_->taken(End::kWrite))
    (void)co_await runtime::sleep_for(module_.loop_, kWriterWait, cancel_.get_token());
  if (!response_->taken(End::kWrite)) decided_.request_stop();
}

Task<> Serving::answer_from_channel() {
  const runtime::StopScope scope(module_.loop_, decided_.get_token(), deadline());
  for (;;) {
    Result<std::optional<net::Message>> got = co_await response_->read(scope.token());
    const bool ended = got ? !*got : response_->over().stop_requested();
    if (ended && touched_) co_return reply({.status = head_.status, .headers = head_.headers, .body = {}});
    if (ended && !outcome_.over) co_await fired(module_.loop_, scope.token());
    if (ended || !got) co_return answer_from_value();
    net::Message& message = **got;
    if (message.kind == net::MessageKind::kBinary) {
      co_await stream_on(std::move(message.data));
      co_return;
    }
    touched_ = true;
    if (const Result<> done = apply_control(message.data, head_); !done)
      co_return reply_bad_response(done.error());
  }
}

// A function's value, its error, or that there is none in time.
void Serving::answer_from_value() {
  if (cancel_.stop_requested()) return exchange_->abort();  // the client has gone
  if (!outcome_.over) return reply_failure(timed_out("function"));
  const Result<json::Value>& value = *outcome_.value;
  if (!value) return reply_error(value.error(), "function");
  if (value->is_null()) return reply({.status = head_.status, .headers = head_.headers, .body = {}});
  const Result<net::HttpResponse> response = response_of(*value);
  if (!response) return reply_bad_response(response.error());
  reply(*response);
}

Task<> Serving::stream_on(std::string first) {
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
    Result<std::optional<net::Message>> got = co_await response_->read(stop);
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

void Serving::reply_error(const Error& error, std::string_view what) {
  if (cancel_.stop_requested()) return exchange_->abort();
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
