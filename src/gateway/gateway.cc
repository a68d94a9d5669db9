#include "gateway/gateway.h"

#include "base/strings.h"
#include "gateway/byte_stream.h"
#include "gateway/error_reply.h"
#include "gateway/event_stream.h"
#include "gateway/front_page.h"
#include "gateway/request_input.h"
#include "obs/log.h"

namespace chela::gateway {
namespace {

constexpr std::string_view kMetricsPath = "/metrics";
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
  out.max_connections = options.connections;
  out.refusal = [](int status, const Error& error, std::string_view path) {
    net::HttpResponse response = error_reply(error, envelope_for(path), status);
    add_security_headers(response.headers);
    return response;
  };
  out.body_limit = [small = options.body_bytes, large = options.v1_body_bytes](std::string_view path) {
    return path.starts_with("/v1/") ? large : small;
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
  const std::chrono::duration<double> took = loop_.clock().steady() - start;
  metrics_
      .counter("chela_http_requests_total", "Requests answered",
               {{"operation", operation}, {"status", std::to_string(status)}})
      .add();
  metrics_
      .histogram("chela_http_request_seconds", "From the request's last byte to the end of its answer",
                 {{"operation", operation}})
      .observe(took.count());
  log::debug("gateway", "request",
             {{"method", exchange->request().method},
              {"path", exchange->request().path},
              {"operation", operation},
              {"status", status}});
}

// Answers one request and gives the status. `operation` becomes the name that metrics count it under.
Task<int> Gateway::serve(std::shared_ptr<net::Exchange> exchange, std::string& operation) {
  const net::HttpRequest& request = exchange->request();
  const op::Envelope unknown = envelope_for(request.path);
  if (const Result<> own = origins_.check(request); !own)
    co_return reply(*exchange, error_reply(own.error(), unknown));
  if (request.path == "/" || request.path == kMetricsPath) {
    operation = request.path == "/" ? "page" : "metrics";
    const Result<int> status = co_await page(exchange);
    co_return status ? *status : reply(*exchange, error_reply(status.error(), unknown));
  }
  const std::string_view method =
      request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
  Call call{.exchange = exchange, .match = registry_.match(op::Surface::kGateway, method, request.path)};
  if (request.method == "OPTIONS" && (call.match || !call.match.allowed.empty()))
    co_return preflight(*exchange, call.match);
  if (!call.match && !call.match.allowed.empty()) {
    net::HttpResponse refused = error_reply(method_error(request, call.match.allowed), unknown, 405);
    refused.headers.add("Allow", strings::join(call.match.allowed, ", "));
    co_return reply(*exchange, std::move(refused));
  }
  if (!call.match) {
    const Error missing{.code = Code::kNotFound,
                        .message = fmt::format("there is nothing at {} {}", request.method, request.path)};
    co_return reply(*exchange, error_reply(missing, unknown));
  }
  operation = call.match.operation->id;
  const Result<int> status = co_await run(call);
  co_return status ? *status : reply(*exchange, error_reply(status.error(), call.match.route->envelope));
}

int Gateway::preflight(net::Exchange& exchange, const op::Match& match) const {
  net::HttpResponse response{.status = 204};
  if (!match.allowed.empty()) response.headers.add("Allow", strings::join(match.allowed, ", "));
  origins_.add_preflight(exchange.request(), response.headers);
  return reply(exchange, std::move(response));
}

Task<Result<op::Principal>> Gateway::identify(const net::HttpRequest& request) {
  if (request.transport == net::Transport::kUnix) co_return owner_;
  co_return co_await authenticator_.authenticate(bearer_token(request));
}

// What is no operation: the front page and the metrics.
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
    response.headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body = metrics_.render();
  } else {
    response.headers.add("Content-Type", "text/html; charset=utf-8");
    response.headers.add("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    response.body = front_page(options_.version);
  }
  co_return reply(*exchange, std::move(response));
}

Task<Result<int>> Gateway::run(Call& call) {
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
  switch (operation.kind) {
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

net::HttpResponse value_reply(int status, const json::Value& value) {
  net::HttpResponse response{.status = status};
  if (status == 204) return response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::write(value);
  return response;
}

op::Event error_event(const Error& error, op::Envelope envelope) {
  json::Value body = error_body(error, envelope);
  if (envelope != op::Envelope::kChela) return op::Event{.data = json::write(body)};
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
  EventStream stream(loop_, call.exchange, headers, event_streams_);
  const auto& handler = std::get<op::EventsHandler>(call.match.operation->handler);
  const Result<json::Value> value = co_await handler(call.context, std::move(call.args), stream);
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
