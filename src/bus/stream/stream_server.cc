#include "bus/stream/stream_server.h"

#include "base/strings.h"
#include "bus/socket_link.h"
#include "bus/stream/limits.h"
#include "obs/log.h"

namespace chela::bus::stream {
namespace {

constexpr std::uint16_t kPolicyViolation = 1008;
constexpr std::string_view kPath = "/stream/";
// The subscription that an address makes.
constexpr std::string_view kAddressSubscription = "address";

void refuse(net::Exchange& exchange, const Error& error) {
  net::HttpResponse response{.status = http_status(error.code)};
  response.headers.add("Content-Type", "application/json");
  response.body = json::write(json::Value::object({{"error", json::from_error(error)}}));
  exchange.reply(std::move(response));
}

// What iii's auth functions are asked.
json::Value question(const net::HttpRequest& request) {
  json::Value headers = json::Value::object();
  for (const auto& [name, value] : request.headers.fields) headers.set(strings::lower(name), value);
  json::Value query = json::Value::object();
  for (const auto& [name, value] : net::parse_query(request.query)) {
    if (json::Value* all = query.find(name)) {
      all->push_back(value);
    } else {
      query.set(name, json::Value::array({value}));
    }
  }
  return json::Value::object({{"headers", std::move(headers)},
                              {"path", request.path},
                              {"query_params", std::move(query)},
                              {"addr", request.peer}});
}

// What the address itself wants to hear; nothing for "/". kNotFound for any other.
Result<std::optional<Wish>> wish_of(std::string_view path) {
  if (path == "/") return std::nullopt;
  const Failure unknown = fail(Code::kNotFound, "a WebSocket connects to / or to /stream/<name>/<group>/");
  if (!path.starts_with(kPath)) return unknown;
  path.remove_prefix(kPath.size());
  if (path.ends_with('/')) path.remove_suffix(1);
  std::vector<std::string> parts;
  for (const std::string_view part : strings::split(path, '/')) {
    std::optional<std::string> plain = net::percent_decode(part);
    if (!plain || plain->empty() || plain->size() > items::kMaxItemKeyBytes) return unknown;
    parts.push_back(std::move(*plain));
  }
  if (parts.size() < 2 || parts.size() > 3) return unknown;
  Wish wish{.subscription = std::string(kAddressSubscription),
            .stream = std::move(parts[0]),
            .group = std::move(parts[1])};
  if (parts.size() == 3) wish.item = std::move(parts[2]);
  return wish;
}

net::HttpServerOptions server_options() {
  return {.max_connections = kMaxStreamSockets, .max_write_buffer = kMaxSocketBufferBytes};
}

}  // namespace

StreamServer::StreamServer(runtime::AsioLoop& loop, Session::Parts parts, StreamServerOptions options)
    : parts_(parts),
      options_(std::move(options)),
      server_(loop, server_options(),
              [this](std::shared_ptr<net::Exchange> exchange) { return handle(std::move(exchange)); }) {}

Result<> StreamServer::listen() {
  const Result<std::uint16_t> port = server_.listen_tcp(options_.host, options_.port);
  if (!port) {
    Error error = port.error();
    error.message = "the streams cannot listen: " + error.message;
    return fail(std::move(error));
  }
  port_ = *port;
  return {};
}

Task<> StreamServer::stop(std::chrono::milliseconds grace) {
  stopping_.request_stop();
  return server_.stop(grace);
}

Task<Result<Guest>> StreamServer::admit(std::shared_ptr<net::Exchange> exchange) {
  Visitor visitor{.token = token_of(exchange->request()), .peer = exchange->request().peer};
  // Which page it is does not matter where a function looks at whoever comes.
  if (const std::string* origin = exchange->request().headers.find("Origin");
      origin && options_.auth_function.empty())
    visitor.headers.emplace("origin", *origin);
  Result<Admission> admitted = co_await options_.authenticate(std::move(visitor));
  if (!admitted) co_return fail(std::move(admitted.error()));
  const op::Principal& principal = admitted->rights.principal;
  if (!principal.allows(kCallPermission))
    co_return fail(Code::kPermissionDenied, "hearing of streams needs the permission {}", kCallPermission);
  Guest guest{.rights = admitted->rights};
  if (options_.auth_function.empty()) co_return guest;
  const Result<json::Value> said =
      co_await parts_.bus.call({.principal = principal,
                                .scope = principal.scope(),
                                .deadline = parts_.bus.clock().steady() + kAuthTimeout,
                                .stop = stopping_.get_token()},
                               options_.auth_function, question(exchange->request()));
  if (!said || !said->is_object() || said->bool_or("unauthorized", false)) {
    log::warn("bus", "a socket is refused by the function that decides about it",
              {{"function", options_.auth_function}, {"error", said ? "" : said.error().message}});
    co_return fail(Code::kUnauthenticated, "{} did not let this socket in", options_.auth_function);
  }
  if (const json::Value* context = said->find("context")) guest.context = *context;
  co_return guest;
}

Task<> StreamServer::handle(std::shared_ptr<net::Exchange> exchange) {
  Result<std::optional<Wish>> wish = wish_of(exchange->request().path);
  if (!wish) {
    refuse(*exchange, wish.error());
    co_return;
  }
  const Result<Guest> guest = co_await admit(exchange);
  if (!guest) {
    refuse(*exchange, guest.error());
    co_return;
  }
  net::WebSocketOptions options;
  options.max_message_bytes = kMaxSocketMessageBytes;
  Result<std::unique_ptr<net::WebSocket>> socket = co_await exchange->upgrade(options);
  if (!socket) {
    refuse(*exchange, socket.error());
    co_return;
  }
  exchange.reset();
  SocketLink link(**socket);
  const std::stop_callback on_end(
      guest->rights.ended, [&link] { link.close(kPolicyViolation, "the token was revoked or has expired"); });
  Session session(parts_, link, *guest, options_.held_events, stopping_.get_token());
  ++sockets_;
  if (*wish) co_await session.join(std::move(**wish));
  for (;;) {
    Result<std::optional<net::Message>> message = co_await (*socket)->receive(stopping_.get_token());
    if (!message || !*message) break;
    co_await session.handle(std::move((*message)->data));
  }
  session.end();
  --sockets_;
}

}  // namespace chela::bus::stream
