#include "bus/server.h"

#include "base/json.h"
#include "base/strings.h"
#include "bus/call_endpoint.h"
#include "bus/socket_link.h"
#include "obs/log.h"

namespace chela::bus {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::uint16_t kPolicyViolation = 1008;
constexpr std::string_view kMetricsPermission = "system:read";
constexpr std::string_view kTokenEnded = "the token was revoked or has expired";

Visitor visitor_of(const net::HttpRequest& request) {
  Visitor visitor{.token = token_of(request), .peer = request.peer};
  for (const auto& [name, value] : request.headers.fields)
    visitor.headers.insert_or_assign(strings::lower(name), value);
  for (auto& [name, value] : net::parse_query(request.query)) visitor.query[name].push_back(std::move(value));
  return visitor;
}

void reply_error(net::Exchange& exchange, const Error& error) {
  net::HttpResponse response{.status = http_status(error.code)};
  response.headers.add("Content-Type", "application/json");
  if (error.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count();
    response.headers.add("Retry-After", std::to_string(seconds));
  }
  response.body = json::write(json::Value::object({{"error", json::from_error(error)}}));
  exchange.reply(std::move(response));
}

net::HttpServerOptions server_options(const ServerOptions& options) {
  return {
      .body_limit = [](std::string_view path) { return path == "/call" ? kMaxFrameBytes : kMaxBodyBytes; },
      .max_connections = options.max_connections,
      .max_write_buffer = options.max_unsent,
      .header_timeout = options.handshake_timeout,
      .write_stall_timeout = kReadStallTimeout};
}

net::WebSocketOptions socket_options() {
  net::WebSocketOptions options;
  options.max_message_bytes = kMaxFrameBytes;
  return options;
}

// SDKs put what they measure into binary frames with one of these names in front; old ones on the worker's own socket or on a second
// one to the same address.
bool is_telemetry(const net::Message& message) {
  if (message.kind != net::MessageKind::kBinary) return false;
  return message.data.starts_with("OTLP") || message.data.starts_with("MTRC") ||
         message.data.starts_with("LOGS");
}

}  // namespace

std::string token_of(const net::HttpRequest& request) {
  const std::string_view header = request.headers.value_or("Authorization");
  if (header.size() > kBearer.size() && strings::iequals(header.substr(0, kBearer.size()), kBearer))
    return std::string(strings::trim(header.substr(kBearer.size())));
  for (const auto& [name, value] : net::parse_query(request.query)) {
    if (name == "token") return value;
  }
  return {};
}

Server::Server(runtime::AsioLoop& loop, Bus& bus, obs::Metrics& metrics, ServerOptions options)
    : loop_(loop),
      bus_(bus),
      options_(std::move(options)),
      metrics_(metrics),
      telemetry_(metrics.counter("chela_bus_telemetry_bytes_total", "Measurements of SDKs")),
      server_(loop, server_options(options_),
              [this](std::shared_ptr<net::Exchange> exchange) { return handle(std::move(exchange)); }) {}

Result<> Server::listen() {
  const Result<std::uint16_t> port = server_.listen_tcp(options_.host, options_.port);
  if (!port) {
    Error error = port.error();
    error.message = "the bus cannot listen: " + error.message;
    return fail(std::move(error));
  }
  port_ = *port;
  return {};
}

Task<> Server::stop(std::chrono::milliseconds grace) {
  stopping_.request_stop();
  return server_.stop(grace);
}

Task<> Server::handle(std::shared_ptr<net::Exchange> exchange) {
  if (options_.beside) {
    if (std::optional<Task<>> served = options_.beside(exchange)) {
      exchange.reset();
      co_await std::move(*served);
      co_return;
    }
  }
  const net::HttpRequest& request = exchange->request();
  const bool telemetry = request.path == "/otel";
  const bool call = request.path == "/call";
  const bool metrics = request.path == "/metrics";
  if (!telemetry && !call && !metrics && request.path != "/") {
    reply_error(*exchange, {.code = Code::kNotFound, .message = "workers connect to /"});
    co_return;
  }
  Result<Admission> caller = co_await options_.authenticate(visitor_of(request));
  if (!caller && (call || metrics)) {
    reply_error(*exchange, caller.error());
  } else if (!caller) {
    co_await refuse(std::move(exchange), std::move(caller.error()));
  } else if (call) {
    co_await serve_call(bus_, loop_, std::move(exchange), std::move(*caller));
  } else if (metrics) {
    serve_metrics(*exchange, *caller);
  } else if (telemetry) {
    co_await serve_telemetry(std::move(exchange), std::move(caller->rights));
  } else {
    co_await serve_worker(std::move(exchange), std::move(*caller));
  }
}

Task<> Server::refuse(std::shared_ptr<net::Exchange> exchange, Error error) {
  if (options_.refusal == ServerOptions::Refusal::kStatus) {
    reply_error(*exchange, error);
    co_return;
  }
  Result<std::unique_ptr<net::WebSocket>> socket = co_await exchange->upgrade(socket_options());
  if (!socket) {
    reply_error(*exchange, socket.error());
    co_return;
  }
  exchange.reset();
  std::string frame;
  write::error(frame, to_wire(error));
  if (const Result<> sent = (*socket)->send_text(frame); !sent)
    log::debug("bus", "a refused connection has gone", {{"reason", sent.error().message}});
  (*socket)->close(kPolicyViolation, "it was not let in");
  // Until the other side has taken it; what it says meanwhile is nothing to us.
  for (;;) {
    const Result<std::optional<net::Message>> message = co_await (*socket)->receive(stopping_.get_token());
    if (!message || !*message) co_return;
  }
}

Task<> Server::serve_worker(std::shared_ptr<net::Exchange> exchange, Admission admitted) {
  const Rights& rights = admitted.rights;
  const std::string address = exchange->request().peer;
  Result<std::unique_ptr<net::WebSocket>> socket = co_await exchange->upgrade(socket_options());
  if (!socket) {
    reply_error(*exchange, socket.error());
    co_return;
  }
  exchange.reset();
  SocketLink link(**socket);
  const WorkerPtr worker = bus_.connect(link, rights, address, admitted.session);
  const std::stop_callback on_end(rights.ended, [this, &worker, &link] {
    bus_.disconnect(worker);
    link.close(kPolicyViolation, kTokenEnded);
  });
  for (;;) {
    const Result<std::optional<net::Message>> message = co_await (*socket)->receive(stopping_.get_token());
    if (!message) {
      log::debug("bus", "a connection ended", {{"worker", worker->id}, {"reason", message.error().message}});
      break;
    }
    if (!*message) break;
    if (is_telemetry(**message)) {
      telemetry_.add((*message)->data.size());
      bus_.measured(worker->view.tenant, (*message)->data);
      continue;
    }
    if (WorkerPtr slow = bus_.receive(worker, (*message)->data))
      co_await bus_.wait_for(std::move(slow), stopping_.get_token());
    if (worker->undecided > 0) co_await bus_.settled(worker);
  }
  bus_.disconnect(worker);
}

// Whoever is under rules of functions has no right to what the whole engine does.
void Server::serve_metrics(net::Exchange& exchange, const Admission& caller) const {
  if (exchange.request().method != "GET")
    return reply_error(exchange, {.code = Code::kInvalidArgument, .message = "metrics are read with GET"});
  if (caller.session || !caller.rights.principal.allows(kMetricsPermission))
    return reply_error(exchange,
                       {.code = Code::kPermissionDenied,
                        .message = fmt::format("/metrics needs the permission {}", kMetricsPermission)});
  if (options_.measure) options_.measure();
  net::HttpResponse response;
  response.headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = metrics_.render();
  exchange.reply(std::move(response));
}

Task<> Server::serve_telemetry(std::shared_ptr<net::Exchange> exchange, Rights rights) {
  Result<std::unique_ptr<net::WebSocket>> socket = co_await exchange->upgrade(socket_options());
  if (!socket) {
    reply_error(*exchange, socket.error());
    co_return;
  }
  exchange.reset();
  const std::string tenant = viewer_of(rights.principal).tenant;
  const std::stop_callback on_end(rights.ended,
                                  [&socket] { (*socket)->close(kPolicyViolation, kTokenEnded); });
  for (;;) {
    const Result<std::optional<net::Message>> message = co_await (*socket)->receive(stopping_.get_token());
    if (!message || !*message) break;
    telemetry_.add((*message)->data.size());
    if (is_telemetry(**message)) bus_.measured(tenant, (*message)->data);
  }
}

}  // namespace chela::bus
