#include "net/websocket_client.h"

#include "net/http_server.h"
#include "testing/http_fixture.h"
#include "testing/raw_socket.h"

namespace chela::net {
namespace {

using testing::RawServer;
using testing::RawSocket;

constexpr std::string_view kGreeting = "welcome";

// Greets in the breath of the handshake, then sends back what comes; "bye" closes.
Task<> greet_and_echo(std::vector<std::string>& tokens, std::shared_ptr<Exchange> exchange) {
  tokens.emplace_back(exchange->request().headers.value_or("Authorization"));
  if (exchange->request().path != "/bus") {
    exchange->reply({.status = exchange->request().path == "/closed" ? 401 : 404});
    co_return;
  }
  Result<std::unique_ptr<WebSocket>> socket = co_await exchange->upgrade();
  EXPECT_TRUE(socket);
  exchange.reset();
  EXPECT_TRUE((*socket)->send_text(kGreeting));
  for (;;) {
    const Result<std::optional<Message>> message = co_await (*socket)->receive({});
    if (!message || !*message) co_return;
    if ((*message)->data == "bye") {
      (*socket)->close(4001, "as asked");
    } else if ((*message)->kind == MessageKind::kText) {
      EXPECT_TRUE((*socket)->send_text((*message)->data));
    } else {
      EXPECT_TRUE((*socket)->send_binary((*message)->data));
    }
  }
}

class WebSocketClientTest : public testing::HttpFixture {
 protected:
  void serve() {
    start(
        [this](std::shared_ptr<Exchange> exchange) { return greet_and_echo(tokens_, std::move(exchange)); });
  }
  ConnectWebSocket to(std::uint16_t port, std::string_view path = "/bus") {
    return {.url = *parse_websocket_url(fmt::format("ws://127.0.0.1:{}{}", port, path))};
  }
  Result<std::unique_ptr<WebSocket>> connect(ConnectWebSocket start, std::stop_token stop = {}) {
    return runtime::block_on(loop_, connect_websocket(loop_, pool_, std::move(start), std::move(stop)));
  }
  std::string receive(WebSocket& socket) {
    const Result<std::optional<Message>> message = runtime::block_on(loop_, socket.receive({}));
    return message && *message ? (*message)->data : "nothing";
  }
  Code code_of(ConnectWebSocket start, std::stop_token stop = {}) {
    const auto socket = connect(std::move(start), std::move(stop));
    EXPECT_FALSE(socket);
    return socket ? Code::kInternal : socket.error().code;
  }

  std::vector<std::string> tokens_;
};

TEST_F(WebSocketClientTest, TalksBothWays) {
  serve();
  ConnectWebSocket start = to(port_);
  start.headers.add("Authorization", "Bearer t");
  const auto socket = connect(std::move(start));
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_EQ(tokens_, std::vector<std::string>{"Bearer t"});
  EXPECT_EQ(receive(**socket), kGreeting);
  for (const size_t size : {0u, 1u, 125u, 126u, 65535u, 65536u, 300'000u}) {
    std::string text(size, 'x');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
    ASSERT_TRUE((*socket)->send_text(text));
    EXPECT_EQ(receive(**socket), text) << size;
  }
  ASSERT_TRUE((*socket)->send_binary(std::string("\0\xff", 2)));
  EXPECT_EQ(receive(**socket), std::string("\0\xff", 2));
  EXPECT_FALSE((*socket)->send_text("\xff"));
  ASSERT_TRUE((*socket)->send_text("bye"));
  EXPECT_EQ(receive(**socket), "nothing");
}

TEST_F(WebSocketClientTest, LooksNamesUp) {
  serve();
  const auto socket = connect({.url = *parse_websocket_url(fmt::format("ws://localhost:{}/bus", port_))});
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_EQ(receive(**socket), kGreeting);
  EXPECT_EQ(code_of({.url = *parse_websocket_url("ws://nobody.invalid:1")}), Code::kUnavailable);
}

TEST_F(WebSocketClientTest, SaysWhyThereIsNoWebSocket) {
  serve();
  EXPECT_EQ(code_of(to(port_, "/closed")), Code::kUnauthenticated);
  EXPECT_EQ(code_of(to(port_, "/nowhere")), Code::kNotFound);
  ConnectWebSocket start = to(port_);
  start.headers.add("Authorization", "Bearer a\r\nX: y");
  EXPECT_EQ(code_of(std::move(start)), Code::kInvalidArgument);
  const std::uint16_t port = port_;
  stop(std::chrono::seconds(0));
  server_.reset();
  EXPECT_EQ(code_of(to(port)), Code::kUnavailable);
}

TEST_F(WebSocketClientTest, WaitsForAnAnswerOnlySoLong) {
  const RawServer silent([](RawSocket& socket) { socket.read_to_end(); });
  EXPECT_EQ(ConnectWebSocket{}.timeout, kWebSocketConnectTimeout);
  ConnectWebSocket start = to(silent.port());
  start.timeout = 20ms;
  EXPECT_EQ(code_of(std::move(start)), Code::kTimeout);
  std::stop_source stop;
  loop_.call_at(loop_.clock().steady() + 5ms, [stop]() mutable { stop.request_stop(); });
  EXPECT_EQ(code_of(to(silent.port()), stop.get_token()), Code::kCancelled);
}

TEST_F(WebSocketClientTest, AWrongAnswerIsNoWebSocket) {
  const RawServer liar([](RawSocket& socket) {
    socket.read_until("\r\n\r\n");
    socket.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n");
  });
  EXPECT_EQ(code_of(to(liar.port())), Code::kUpstream);
}

TEST(WebSocketUrl, BeginsWithWs) {
  EXPECT_EQ(parse_websocket_url("ws://host:49134/a?b=c")->text(), "http://host:49134/a?b=c");
  EXPECT_EQ(parse_websocket_url("wss://host/a")->text(), "https://host/a");
  EXPECT_EQ(parse_websocket_url("https://host").error().code, Code::kInvalidArgument);
  EXPECT_EQ(parse_websocket_url("http://host").error().code, Code::kInvalidArgument);
  EXPECT_FALSE(parse_websocket_url("ws://"));
}

}  // namespace
}  // namespace chela::net
