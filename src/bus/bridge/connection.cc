#include "bus/bridge/connection.h"

#include "bus/limits.h"
#include "net/websocket_client.h"
#include "runtime/asio_loop.h"

namespace chela::bus::bridge {

Peer read_peer(ConfigReader& reader, std::string_view key) {
  Peer peer{.url = {}, .token = reader.text("token"), .ca_file = reader.text("ca_file")};
  const std::string text = reader.text(key);
  if (text.empty()) {
    reader.refuse(key, "must be the address of another engine, ws://HOST:PORT or wss://HOST");
    return peer;
  }
  Result<net::Url> url = net::parse_websocket_url(text);
  if (url) {
    peer.url = std::move(*url);
    if (peer.url.scheme != "https" && !peer.ca_file.empty())
      reader.refuse("ca_file", "says whom to trust at a wss:// address; this is a ws:// one");
  } else {
    reader.refuse(key, url.error().message);
  }
  if (!net::valid_field(net::FieldPart::kValue, peer.token))
    reader.refuse("token", "must be one line of printable characters");
  return peer;
}

std::unique_ptr<Remote> make_remote(ModuleParts& parts, const Peer& peer, Remote::Options options) {
  net::Headers headers;
  if (!peer.token.empty()) headers.add("Authorization", "Bearer " + peer.token);
  options.where = peer.url.host_port();
  // Kept from one connection to the next.
  const auto trust = std::make_shared<net::TlsTrust>(
      peer.ca_file.empty() ? std::string() : (parts.directory / peer.ca_file).string());
  const auto connect = [&parts, url = peer.url, headers, trust](std::stop_token stop) {
    net::WebSocketOptions socket;
    socket.max_message_bytes = kMaxFrameBytes;
    return net::connect_websocket(
        parts.loop, parts.pool,
        {.url = url, .trust = trust, .headers = headers, .options = socket, .max_unsent = kMaxUnsentBytes},
        std::move(stop));
  };
  return std::make_unique<Remote>(Remote::Parts{.loop = parts.loop, .ids = parts.ids, .connect = connect},
                                  std::move(options));
}

}  // namespace chela::bus::bridge
