#include "net/websocket_server.h"

#include "net/websocket_transport.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "base/strings.h"
#include "net/websocket_session.h"

namespace chela::net {
namespace {

namespace beast = boost::beast;
namespace ws = boost::beast::websocket;
using boost::system::error_code;

constexpr size_t kKeyLength = 24;  // base64 of 16 bytes

bool has_token(const Headers& headers, std::string_view name, std::string_view token) {
  for (const auto& [field, value] : headers.fields) {
    if (!strings::iequals(field, name)) continue;
    for (const std::string_view part : strings::split(value, ',')) {
      if (strings::iequals(strings::trim(part), token)) return true;
    }
  }
  return false;
}

}  // namespace

Result<> check_handshake(const HttpRequest& request, int minor_version) {
  const Headers& headers = request.headers;
  if (request.method != "GET" || minor_version < 1 || !has_token(headers, "Upgrade", "websocket") ||
      !has_token(headers, "Connection", "upgrade")) {
    return fail(Code::kInvalidArgument, "this address takes WebSocket connections only");
  }
  if (headers.value_or("Sec-WebSocket-Version") != "13")
    return fail(Code::kInvalidArgument, "the WebSocket version must be 13");
  if (strings::trim(headers.value_or("Sec-WebSocket-Key")).size() != kKeyLength) {
    return fail(Code::kInvalidArgument, "the Sec-WebSocket-Key is malformed");
  }
  return {};
}

// Beast checks the handshake and answers it; frames are read without it, since a call of its readers costs more than a frame.
Task<Result<std::unique_ptr<WebSocket>>> accept_websocket(AcceptWebSocket start) {
  beast::http::request<beast::http::empty_body> request;
  request.method(beast::http::verb::get);
  request.target(start.request.target);
  request.version(11);
  for (const auto& [name, value] : start.request.headers.fields) request.insert(name, value);
  const auto handshake =
      std::make_shared<ws::stream<WebSocketTransport, false>>(start.loop, start.stream, std::string());
  // Nothing in it waits for the peer: the request is there, and the answer goes into the connection's buffer.
  handshake->set_option(ws::stream_base::timeout{.handshake_timeout = ws::stream_base::none(),
                                                 .idle_timeout = ws::stream_base::none(),
                                                 .keep_alive_pings = false});
  if (!start.options.protocol.empty()) {
    handshake->set_option(
        ws::stream_base::decorator([protocol = start.options.protocol](ws::response_type& response) {
          response.set(beast::http::field::sec_websocket_protocol, protocol);
        }));
  }
  const runtime::Completion<error_code> done(start.loop);
  handshake->async_accept(request, [handshake, done](error_code ec) { done.resolve(ec); });
  if (const error_code ec = co_await done; ec) {
    start.stream->close();
    co_return fail(Code::kUpstream, "the WebSocket handshake failed: {}", ec.message());
  }
  co_return open_websocket({.loop = start.loop,
                            .stream = start.stream,
                            .end = WebSocketEnd::kServer,
                            .read_ahead = std::move(start.read_ahead),
                            .stops = start.server_stops,
                            .options = start.options});
}

}  // namespace chela::net
