#include "net/websocket_client.h"

#include "net/websocket_transport.h"

#include <boost/beast/websocket/stream.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "net/websocket_session.h"
#include "runtime/stop_scope.h"

namespace chela::net {
namespace {

namespace ws = boost::beast::websocket;
using boost::system::error_code;

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};
using Addresses = std::vector<Address>;

std::string error_text(int code) { return std::error_code(code, std::generic_category()).message(); }

// Blocks.
Result<Addresses> look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0)
    return fail(Code::kUnavailable, "the host {} cannot be found: {}", host, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Addresses all;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Address& address = all.emplace_back();
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.length = each->ai_addrlen;
  }
  return all;
}

// A look-up that nobody waits for any more ends in its thread.
Task<Result<Addresses>> resolve(runtime::AsioLoop& loop, runtime::Pool& pool, Url url, std::stop_token stop) {
  const runtime::Completion<Result<Addresses>> done(loop);
  const bool queued =
      pool.submit([done, host = url.host, port = url.port] { done.resolve(look_up(host, port)); });
  if (!queued) co_return fail(Code::kUnavailable, "too much blocking work is queued; try again shortly");
  const std::stop_callback on_stop(stop, [done] { done.resolve(fail(Code::kCancelled, "cancelled")); });
  co_return co_await done;
}

Task<Result<UniqueFd>> connect_to(runtime::AsioLoop& loop, Address address, std::stop_token stop) {
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) co_return fail(Code::kUnavailable, "{}", error_text(errno));
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd.get(), name, address.length) == 0) co_return fd;
  if (errno != EINPROGRESS) co_return fail(Code::kUnavailable, "{}", error_text(errno));
  FdWatch watch(loop, fd.get());
  const runtime::Completion<bool> ready(loop);
  watch.wait(Ready::kWrite, [ready] { ready.resolve(true); });
  const std::stop_callback on_stop(stop, [ready] { ready.resolve(false); });
  if (!co_await ready) co_return fail(Code::kCancelled, "cancelled");
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) co_return fail(Code::kUnavailable, "{}", error_text(error));
  co_return fd;
}

Task<Result<UniqueFd>> connect_any(runtime::AsioLoop& loop, runtime::Pool& pool, Url url,
                                   std::stop_token stop) {
  const Result<Addresses> addresses = co_await resolve(loop, pool, url, stop);
  if (!addresses) co_return fail(addresses.error());
  std::string why = "it has no address";
  for (const Address& each : *addresses) {
    Result<UniqueFd> fd = co_await connect_to(loop, each, stop);
    if (fd || fd.error().code == Code::kCancelled) co_return fd;
    why = fd.error().message;
  }
  co_return fail(Code::kUnavailable, "nobody can be reached at {}: {}", url.host_port(), why);
}

// The TLS of a connection to the URL's host, or null where it has none.
Task<Result<std::unique_ptr<TlsLink>>> secure(runtime::AsioLoop& loop, runtime::Pool& pool, int fd,
                                              ConnectWebSocket start, std::stop_token stop) {
  if (start.url.scheme != "https") co_return nullptr;
  const std::shared_ptr<TlsTrust> trust = start.trust ? start.trust : std::make_shared<TlsTrust>();
  const Result<std::shared_ptr<const TlsClient>> client = co_await trust->client(pool);
  if (!client) co_return fail(client.error());
  Result<std::unique_ptr<TlsLink>> link = (*client)->secure(fd, start.url.host);
  if (!link) co_return fail(link.error());
  FdWatch watch(loop, fd);
  for (;;) {
    const TlsLink::Did did = (*link)->handshake();
    if (did.state == TlsLink::State::kDone) co_return std::move(*link);
    if (did.state == TlsLink::State::kEnd || did.state == TlsLink::State::kBroken)
      co_return fail(Code::kUpstream, "no TLS connection to {}: {}", start.url.host_port(),
                     (*link)->problem().empty() ? "it was cut" : (*link)->problem());
    const runtime::Completion<bool> ready(loop);
    watch.wait(did.state == TlsLink::State::kWantRead ? Ready::kRead : Ready::kWrite,
               [ready] { ready.resolve(true); });
    const std::stop_callback on_stop(stop, [ready] { ready.resolve(false); });
    if (!co_await ready) co_return fail(Code::kCancelled, "cancelled");
  }
}

Error refused(const Url& url, unsigned status) {
  const Code code = status == 401   ? Code::kUnauthenticated
                    : status == 403 ? Code::kPermissionDenied
                    : status == 404 ? Code::kNotFound
                                    : Code::kUpstream;
  return {.code = code,
          .message = fmt::format("{} answers {} and opens no WebSocket", url.host_port(), status)};
}

// Beast makes the handshake and checks the answer, which it is given byte by byte: what comes behind it, frames already, stays in the
// socket.
Task<Result<>> shake_hands(runtime::AsioLoop& loop, std::shared_ptr<SocketStream> stream, Url url,
                           Headers headers, std::stop_token stop) {
  const auto handshake =
      std::make_shared<ws::stream<WebSocketTransport, false>>(loop, stream, std::string(), size_t{1});
  handshake->set_option(ws::stream_base::timeout{.handshake_timeout = ws::stream_base::none(),
                                                 .idle_timeout = ws::stream_base::none(),
                                                 .keep_alive_pings = false});
  handshake->set_option(ws::stream_base::decorator([headers](ws::request_type& request) {
    for (const auto& [name, value] : headers.fields) request.set(name, value);
  }));
  const auto answer = std::make_shared<ws::response_type>();
  const runtime::Completion<error_code> done(loop);
  handshake->async_handshake(*answer, url.host_port(), url.path + (url.query.empty() ? "" : "?" + url.query),
                             [handshake, answer, done](error_code ec) { done.resolve(ec); });
  const std::stop_callback on_stop(stop, [stream] { stream->close(); });
  const error_code ec = co_await done;
  if (!ec) co_return Result<>();
  if (ec == ws::error::upgrade_declined) co_return fail(refused(url, answer->result_int()));
  co_return fail(Code::kUpstream, "the WebSocket handshake with {} failed: {}", url.host_port(),
                 ec.message());
}

}  // namespace

Result<Url> parse_websocket_url(std::string_view text) {
  // "ws" becomes "http", "wss" "https".
  if (!text.starts_with("ws://") && !text.starts_with("wss://"))
    return fail(Code::kInvalidArgument, "'{}' begins with neither ws:// nor wss://", text);
  return Url::parse(fmt::format("http{}", text.substr(2)));
}

Task<Result<std::unique_ptr<WebSocket>>> connect_websocket(runtime::AsioLoop& loop, runtime::Pool& pool,
                                                           ConnectWebSocket start, std::stop_token stop) {
  for (const auto& [name, value] : start.headers.fields) {
    if (!valid_field(FieldPart::kName, name) || !valid_field(FieldPart::kValue, value))
      co_return fail(Code::kInvalidArgument, "the header {} cannot be sent", name);
  }
  const runtime::StopScope scope(loop, stop, loop.clock().steady() + start.timeout);
  const auto why = [&](const Error& error) {
    return scope.token().stop_requested() ? scope.reason("connecting to " + start.url.host_port()) : error;
  };
  Result<UniqueFd> fd = co_await connect_any(loop, pool, start.url, scope.token());
  if (!fd) co_return fail(why(fd.error()));
  Result<std::unique_ptr<TlsLink>> tls = co_await secure(loop, pool, fd->get(), start, scope.token());
  if (!tls) co_return fail(why(tls.error()));
  const auto stream = std::make_shared<SocketStream>(
      loop, std::move(*fd),
      SocketStream::Limits{.max_unsent = start.max_unsent, .write_stall = kWriteStallTimeout},
      std::move(*tls));
  const Result<> done = co_await shake_hands(loop, stream, start.url, start.headers, scope.token());
  if (!done) {
    stream->close();
    co_return fail(why(done.error()));
  }
  co_return open_websocket({.loop = loop,
                            .stream = stream,
                            .end = WebSocketEnd::kClient,
                            .read_ahead = {},
                            .stops = {},
                            .options = start.options});
}

}  // namespace chela::net
