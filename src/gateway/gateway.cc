#include "gateway/gateway.h"

#include "base/strings.h"
#include "gateway/byte_stream.h"
#include "gateway/chat_socket.h"
#include "gateway/error_reply.h"
#include "gateway/event_stream.h"
#include "gateway/request_input.h"
#include "gateway/static_files.h"
#include "obs/log.h"

namespace chela::gateway {
namespace {

constexpr std::string_view kMetricsPath = "/metrics";
constexpr std::string_view kSocketPath = "/api/chat/ws";
constexpr std::string_view kSocketEvents = "/api/chat/events";  // the route whose events a socket carries
constexpr std::string_view kMetricsPermission = "system:read";

void add_security_headers(net::Headers& headers) {
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("X-Frame-Options", "DENY");
  headers.add("Referrer-Policy", "no-referrer");  // addresses may hold ?token=
  headers.add("Cache-Control", "no-store");
}

net::HttpServerOptions server_options(const GatewayOptions& options) {
  net::HttpServerOptions out;
  out.max_header_bytes = options.header_bytes;
  out.header_timeout = options.header_timeout;
  out.max_connections = options.connections;
  out.refusal = [](int status, const Error& error, std::string_view path) {
    net::HttpResponse response = error_reply(error, envelope_for(path), status);
    add_security_headers(response.headers);
    return response;
  };
  out.body_limit = [small = options.body_bytes, large = options.v1_body_bytes](std::string_view path) {
    return path.starts_with("/v1/") || path == "/api/chat/send" ? large : small;
  };
  return out;
}

Error method_error(const net::HttpRequest& request, const std::vector<std::string>& allowed) {
  return Error{.code = Code::kInvalidArgument,
               .message = fmt::format("{} does not take {}; it takes {}", request.path, request.method,
                                      strings::join(allowed, ", "))};
}

}  // namespace

// A request whose operation and caller are known.
struct Gateway::Call {
  std::shared_ptr<net::Exchange> exchange;
  op::Match match;
  op::CallContext context;
  json::Value args;

  // The headers of the answer, those that the handler added included.
  void add_reply_headers(net::Headers& headers) const {
    for (const auto& [name, value] : *context.reply_headers) headers.set(name, value);
  }
};

Gateway::Gateway(runtime::AsioLoop& loop, const op::Registry& registry,
                 security::Authenticator& authenticator, op::Principal owner, obs::Metrics& metrics,
                 GatewayOptions options)
    : loop_(loop),
      registry_(registry),
      authenticator_(authenticator),
      owner_(std::move(owner)),
      metrics_(metrics),
      options_(std::move(options)),
      origins_(options_.host, options_.port),
      server_(loop, server_options(options_),
              [this](std::shared_ptr<net::Exchange> exchange) { return handle(std::move(exchange)); }) {}

Result<> Gateway::listen() {
  if (!options_.socket.empty()) {
    if (Result<> bound = server_.listen_unix(options_.socket); !bound) return bound;
  }
  if (options_.tcp == GatewayOptions::Tcp::kOff) return {};
  const Result<std::uint16_t> port = server_.listen_tcp(options_.host, options_.port);
  if (!port) return fail(port.error());
  port_ = *port;
  origins_ = OriginPolicy(options_.host, port_);
  return {};
}

net::Headers Gateway::headers_for(const net::HttpRequest& request) const {
  net::Headers headers;
  add_security_headers(headers);
  origins_.add_cors(request, headers);
  return headers;
}

int Gateway::reply(net::Exchange& exchange, net::HttpResponse response) const {
  net::Headers headers = headers_for(exchange.request());
  for (const auto& [name, value] : response.headers.fields) headers.set(name, value);
  response.headers = std::move(headers);
  const int status = response.status;
  exchange.reply(std::move(response));
  return status;
}

Task<> Gateway::handle(std::shared_ptr<net::Exchange> exchange) {
  const SteadyTime start = loop_.clock().steady();
  std::string operation = "none";
  const int status = co_await serve(exchange, operation);
  count(exchange->request(), operation, status, loop_.clock().steady() - start);
}

void Gateway::count(const net::HttpRequest& request, const std::string& operation, int status,
                    std::chrono::duration<double> took) {
  metrics_
      .counter("chela_http_requests_total", "Requests answered",
               {{"operation", operation}, {"status", std::to_string(status)}})
      .add();
  metrics_
      .histogram("chela_http_request_seconds", "From the request's last byte to the end of its answer",
                 {{"operation", operation}})
      .observe(took.count());
  log::debug(
      "gateway", "request",
      {{"method", request.method}, {"path", request.path}, {"operation", operation}, {"status", status}});
}

namespace {

Task<int> known(int status) { co_return status; }

}  // namespace

// Answers one request and gives the status. `operation` becomes the name that metrics count it under. No coroutine itself: what finds
// the way would be kept as long as a stream is served.
Task<int> Gateway::serve(const std::shared_ptr<net::Exchange>& exchange, std::string& operation) {
  const net::HttpRequest& request = exchange->request();
  const op::Envelope unknown = envelope_for(request.path);
  if (const Result<> own = origins_.check(request); !own)
    return known(reply(*exchange, error_reply(own.error(), unknown)));
  if (is_static_path(request.path) || request.path == kMetricsPath) {
    operation = request.path == kMetricsPath ? "metrics" : "page";
    return answered(exchange, page(exchange), unknown);
  }
  if (request.path == kSocketPath) {
    operation = "socket";
    return answered(exchange, socket(exchange), unknown);
  }
  const std::string_view method =
      request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
  Call call{.exchange = exchange, .match = registry_.match(op::Surface::kGateway, method, request.path)};
  if (request.method == "OPTIONS" && (call.match || !call.match.allowed.empty()))
    return known(preflight(*exchange, call.match));
  if (!call.match && !call.match.allowed.empty()) {
    net::HttpResponse refused = error_reply(method_error(request, call.match.allowed), unknown, 405);
    refused.headers.add("Allow", strings::join(call.match.allowed, ", "));
    return known(reply(*exchange, std::move(refused)));
  }
  if (!call.match) {
    const Error missing{.code = Code::kNotFound,
                        .message = fmt::format("there is nothing at {} {}", request.method, request.path)};
    return known(reply(*exchange, error_reply(missing, unknown)));
  }
  operation = call.match.operation->id;
  const op::Envelope envelope = call.match.route->envelope;
  return answered(exchange, run(std::move(call)), envelope);
}

// What served the request may leave it to this to say why not.
Task<int> Gateway::answered(std::shared_ptr<net::Exchange> exchange, Task<Result<int>> served,
                            op::Envelope envelope) {
  const Result<int> status = co_await std::move(served);
  co_return status ? *status : reply(*exchange, error_reply(status.error(), envelope));
}

int Gateway::preflight(net::Exchange& exchange, const op::Match& match) const {
  net::HttpResponse response{.status = 204};
  if (!match.allowed.empty()) response.headers.add("Allow", strings::join(match.allowed, ", "));
  origins_.add_preflight(exchange.request(), response.headers);
  return reply(exchange, std::move(response));
}

Task<Result<op::Principal>> Gateway::identify(const net::HttpRequest& request) {
  if (request.transport == net::Transport::kUnix) co_return owner_;
  co_return co_await authenticator_.login(bearer_token(request), request.peer);
}

// What a socket is served with.
struct Gateway::Admission {
  op::Principal caller;
  std::shared_ptr<const op::Operation> events;
  json::Value args;  // of the events
  std::shared_ptr<const security::TokenLease> lease;
};

Task<Result<Gateway::Admission>> Gateway::admit(std::shared_ptr<net::Exchange> exchange) {
  const net::HttpRequest& request = exchange->request();
  if (Result<> own = origins_.check_socket(request); !own) co_return fail(own.error());
  Result<op::Principal> caller = co_await identify(request);
  if (!caller) co_return fail(caller.error());
  op::Match events = registry_.match(op::Surface::kGateway, "GET", kSocketEvents);
  if (!events) co_return fail(Code::kUnsupported, "this engine has nothing at {}", kSocketEvents);
  Result<op::Params> query = query_params(request);
  if (!query) co_return fail(query.error());
  Result<std::shared_ptr<const security::TokenLease>> lease = co_await authenticator_.watch(loop_, *caller);
  if (!lease) co_return fail(lease.error());
  Result<json::Value> merged = op::merge_input(*events.operation, {}, *query, json::Value());
  if (!merged) co_return fail(merged.error());
  Result<json::Value> args = op::prepare(*events.operation, *caller, std::move(*merged));
  if (!args) co_return fail(args.error());
  co_return Admission{std::move(*caller), std::move(events.operation), std::move(*args), std::move(*lease)};
}

Task<Result<int>> Gateway::socket(std::shared_ptr<net::Exchange> exchange) {
  Result<Admission> admitted = co_await admit(exchange);
  if (!admitted) co_return fail(admitted.error());
  ChatSocket socket(loop_, registry_, std::move(exchange), std::move(admitted->caller), sockets_,
                    admitted->lease->ended());
  if (Result<> served = co_await socket.run(std::move(admitted->events), std::move(admitted->args)); !served)
    co_return fail(served.error());
  co_return 101;
}

// What is no operation: the web page and the metrics.
Task<Result<int>> Gateway::page(std::shared_ptr<net::Exchange> exchange) {
  const net::HttpRequest& request = exchange->request();
  if (request.method != "GET" && request.method != "HEAD") {
    net::HttpResponse refused = error_reply(method_error(request, {"GET"}), op::Envelope::kChela, 405);
    refused.headers.add("Allow", "GET");
    co_return reply(*exchange, std::move(refused));
  }
  net::HttpResponse response;
  if (request.path == kMetricsPath) {
    const Result<op::Principal> caller = co_await identify(request);
    if (!caller) co_return fail(caller.error());
    if (!caller->allows(kMetricsPermission))
      co_return fail(Code::kPermissionDenied, "/metrics needs the permission {}", kMetricsPermission);
    if (options_.measure) options_.measure();
    response.headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body = metrics_.render();
  } else {
    const StaticFile* file = find_static(page_files(), request.path);
    if (!file) co_return fail(Code::kNotFound, "there is no file {}", request.path);
    response = static_reply(*file, request);
  }
  co_return reply(*exchange, std::move(response));
}

// Who calls, and with what.
Task<Result<>> Gateway::prepare(Call& call) {
  const net::HttpRequest& request = call.exchange->request();
  const op::Operation& operation = *call.match.operation;
  if (!operation.permission.empty()) {
    Result<op::Principal> caller = co_await identify(request);
    if (!caller) co_return fail(caller.error());
    call.context.principal = std::move(*caller);
    call.context.scope = call.context.principal.scope();
  }
  Result<op::Params> query = query_params(request);
  if (!query) co_return fail(query.error());
  Result<json::Value> body = json_body(request);
  if (!body) co_return fail(body.error());
  Result<json::Value> merged = op::merge_input(operation, call.match.params, *query, std::move(*body));
  if (!merged) co_return fail(merged.error());
  Result<json::Value> args = op::prepare(operation, call.context.principal, std::move(*merged));
  if (!args) co_return fail(args.error());
  call.args = std::move(*args);
  call.context.stop = call.exchange->client_gone();
  call.context.headers = public_headers(request);
  call.context.reply_headers = std::make_shared<std::map<std::string, std::string, std::less<>>>();
  co_return Result<>{};
}

Task<Result<int>> Gateway::run(Call call) {
  if (const Result<> ready = co_await prepare(call); !ready) co_return fail(ready.error());
  switch (call.match.operation->kind) {
    case op::Kind::kValue:
      co_return co_await run_value(call);
    case op::Kind::kEvents:
      co_return co_await run_events(call);
    case op::Kind::kBytes:
      break;
  }
  co_return co_await run_bytes(call);
}

namespace {

// A route that answers 204 answers 200 when there is something to say after all.
net::HttpResponse value_reply(int status, const json::Value& value) {
  if (status == 204 && !value.is_null()) status = 200;
  net::HttpResponse response{.status = status};
  if (status == 204) return response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::write(value);
  return response;
}

op::Event error_event(const Error& error, op::Envelope envelope) {
  json::Value body = error_body(error, envelope);
  if (envelope == op::Envelope::kOpenAi) return op::Event{.data = json::write(body)};
  if (envelope == op::Envelope::kAnthropic) return op::Event{.name = "error", .data = json::write(body)};
  body.set("type", "error");
  body.set("message", error.message);
  return op::Event{.name = "error", .data = json::write(body)};
}

}  // namespace

Task<Result<int>> Gateway::run_value(Call& call) {
  const auto& handler = std::get<op::ValueHandler>(call.match.operation->handler);
  const Result<json::Value> value = co_await handler(call.context, std::move(call.args));
  net::HttpResponse response = value ? value_reply(call.match.route->status, *value)
                                     : error_reply(value.error(), call.match.route->envelope);
  call.add_reply_headers(response.headers);
  co_return reply(*call.exchange, std::move(response));
}

Task<Result<int>> Gateway::run_events(Call& call) {
  if (call.exchange->request().method == "HEAD") co_return reply(*call.exchange, {.status = 200});
  const auto headers = [this, &call] {
    net::Headers out = headers_for(call.exchange->request());
    call.add_reply_headers(out);
    return out;
  };
  const Result<std::shared_ptr<const security::TokenLease>> lease =
      co_await authenticator_.watch(loop_, call.context.principal);
  if (!lease) co_return fail(lease.error());
  const std::stop_token ended = (*lease)->ended();
  std::stop_source stop;
  const auto end = [&stop] { stop.request_stop(); };
  const std::stop_callback on_gone(call.exchange->client_gone(), end);
  const std::stop_callback on_end(ended, end);
  call.context.stop = stop.get_token();
  EventStream stream(loop_, call.exchange, headers, event_streams_, stop.get_token());
  const auto& handler = std::get<op::EventsHandler>(call.match.operation->handler);
  Result<json::Value> value = co_await handler(call.context, std::move(call.args), stream);
  if (ended.stop_requested()) value = fail(Code::kUnauthenticated, "the token was revoked or has expired");
  const op::Envelope envelope = call.match.route->envelope;
  if (stream.opened()) {
    stream.finish(value ? std::nullopt : std::optional(error_event(value.error(), envelope)));
    co_return 200;
  }
  net::HttpResponse response =
      value ? value_reply(call.match.route->status, *value) : error_reply(value.error(), envelope);
  call.add_reply_headers(response.headers);
  co_return reply(*call.exchange, std::move(response));
}

Task<Result<int>> Gateway::run_bytes(Call& call) {
  if (call.exchange->request().method == "HEAD") co_return reply(*call.exchange, {.status = 200});
  ByteStream stream(call.exchange, [this, &call] {
    net::Headers headers = headers_for(call.exchange->request());
    call.add_reply_headers(headers);
    return headers;
  });
  const auto& handler = std::get<op::BytesHandler>(call.match.operation->handler);
  const Result<> done = co_await handler(call.context, std::move(call.args), stream);
  if (stream.opened()) {
    stream.finish(done ? ByteStream::End::kWhole : ByteStream::End::kCut);
    co_return 200;
  }
  if (!done) co_return fail(done.error());
  co_return reply(*call.exchange, {.status = 204});
}

}  // namespace chela::gateway
