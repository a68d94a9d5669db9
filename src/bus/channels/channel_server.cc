#include "bus/channels/channel_server.h"

#include "base/json.h"
#include "bus/channels/limits.h"
#include "runtime/task_group.h"

namespace chela::bus::channels {
namespace {

constexpr std::string_view kPath = "/ws/channels/";
constexpr std::uint16_t kNormal = 1000;
constexpr std::uint16_t kGoingAway = 1001;
constexpr std::uint16_t kPolicyViolation = 1008;
constexpr std::uint16_t kInternalError = 1011;

struct Address {
  std::string id;
  std::string key;
  std::string direction;
};

// SDKs append path and query to the address that they were given. One with "?token=" in it makes "/?token=.../ws/channels/...?key=...".
std::optional<Address> address_of(const net::HttpRequest& request) {
  std::string_view path = request.path;
  std::string_view query = request.query;
  if (const size_t at = query.find(kPath); path == "/" && at != std::string_view::npos) {
    const std::string_view rest = query.substr(at);
    const size_t question = rest.find('?');
    path = rest.substr(0, question);
    query = question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  }
  if (!path.starts_with(kPath)) return std::nullopt;
  Address address{.id = std::string(path.substr(kPath.size())), .key = {}, .direction = {}};
  for (auto& [name, value] : net::parse_query(query)) {
    if (name == "key") address.key = std::move(value);
    if (name == "dir") address.direction = std::move(value);
  }
  return address;
}

void refuse(net::Exchange& exchange, const Error& error) {
  net::HttpResponse response{.status = http_status(error.code)};
  response.headers.add("Content-Type", "application/json");
  response.body = json::write(json::Value::object({{"error", json::from_error(error)}}));
  exchange.reply(std::move(response));
}

Task<> refuse_later(std::shared_ptr<net::Exchange> exchange, Error error) {
  refuse(*exchange, error);
  co_return;
}

// A reader says nothing: what it sends is dropped, and its end noticed.
Task<> watch_reader(net::WebSocket& socket, ChannelPtr channel) {
  for (;;) {
    const Result<std::optional<net::Message>> message = co_await socket.receive(channel->over());
    if (message && *message) continue;
    channel->close({.code = Code::kUnavailable, .message = "the channel's reader has gone"});
    co_return;
  }
}

// What the channel holds goes to the reader until it ends; gives how the socket closes.
Task<std::pair<std::uint16_t, std::string>> pass_on(net::WebSocket& socket, ChannelPtr channel) {
  for (;;) {
    const Result<std::optional<net::Message>> message = co_await channel->read({});
    if (!message) co_return std::pair(kInternalError, message.error().message);
    if (!*message) co_return std::pair(kNormal, std::string("stream_complete"));
    const net::Message& sent = **message;
    const Result<> done =
        sent.kind == net::MessageKind::kText ? socket.send_text(sent.data) : socket.send_binary(sent.data);
    if (!done) co_return std::pair(kInternalError, done.error().message);
    if (socket.pending() <= kMaxUnreadBytes) continue;
    if (const Result<> room = co_await socket.drained(kMaxUnreadBytes / 2, channel->over()); !room)
      co_return std::pair(kInternalError, room.error().message);
  }
}

net::WebSocketOptions socket_options() {
  return {.max_message_bytes = kMaxMessageBytes, .ping_interval = kPingInterval};
}

}  // namespace

std::optional<Task<>> ChannelServer::serve(std::shared_ptr<net::Exchange> exchange) {
  const std::optional<Address> address = address_of(exchange->request());
  if (!address) return std::nullopt;
  const bool reads = address->direction == "read";
  if (!reads && address->direction != "write")
    return refuse_later(std::move(exchange),
                        {.code = Code::kInvalidArgument, .message = "dir must be read or write"});
  const End end = reads ? End::kRead : End::kWrite;
  ChannelPtr channel = channels_.find(address->id, address->key, end);
  if (!channel)
    return refuse_later(std::move(exchange), {.code = Code::kNotFound, .message = "Channel not found"});
  return serve_end(std::move(exchange), std::move(channel), end);
}

Task<> ChannelServer::serve_end(std::shared_ptr<net::Exchange> exchange, ChannelPtr channel, End end) {
  Result<std::unique_ptr<net::WebSocket>> socket = co_await exchange->upgrade(socket_options());
  if (!socket) {
    refuse(*exchange, socket.error());
    co_return;
  }
  exchange.reset();
  if (!channel->take(end)) {
    (*socket)->close(kPolicyViolation, "this end of the channel is taken");
  } else if (end == End::kWrite) {
    co_await serve_writer(std::move(*socket), std::move(channel));
  } else {
    co_await serve_reader(std::move(*socket), std::move(channel));
  }
}

Task<> ChannelServer::serve_writer(std::unique_ptr<net::WebSocket> socket, ChannelPtr channel) {
  for (;;) {
    Result<std::optional<net::Message>> message = co_await socket->receive(channel->over());
    if (channel->over().stop_requested()) {
      socket->close(kGoingAway, "the channel was closed");
      co_return;
    }
    if (!message) {
      channel->close(
          {.code = Code::kUpstream,
           .message = fmt::format("the channel's writer was cut off: {}", message.error().message)});
      co_return;
    }
    if (!*message) {
      channel->finish();
      co_return;
    }
    if (const Result<> written = co_await channel->write(std::move(**message), {}); !written) {
      socket->close(kGoingAway, written.error().message);
      co_return;
    }
  }
}

Task<> ChannelServer::serve_reader(std::unique_ptr<net::WebSocket> socket, ChannelPtr channel) {
  runtime::TaskGroup watching(loop_);
  watching.spawn(watch_reader(*socket, channel));
  const auto [code, reason] = co_await pass_on(*socket, channel);
  socket->close(code, reason);
  channel->close({.code = Code::kUnavailable, .message = "the channel's reader has gone"});
  co_await watching.join();
}

}  // namespace chela::bus::channels
