#include "net/tls_client.h"

#include "net/tls_fixture.h"
#include "net/websocket_client.h"
#include "testing/http_fixture.h"

namespace chela::net {
namespace {

using testing::RawServer;
using testing::RawSocket;

Task<> echo(std::shared_ptr<Exchange> exchange) {
  Result<std::unique_ptr<WebSocket>> socket = co_await exchange->upgrade();
  exchange.reset();
  for (;;) {
    const Result<std::optional<Message>> message = co_await (*socket)->receive({});
    if (!message || !*message) co_return;
    EXPECT_TRUE((*socket)->send_text((*message)->data));
    if ((*message)->data == "bye") (*socket)->close(1000, "as asked");
  }
}

class TlsClientTest : public testing::HttpFixture {
 protected:
  Result<std::unique_ptr<WebSocket>> connect(std::uint16_t port, std::string_view host, std::string ca_file) {
    ConnectWebSocket start{.url = *parse_websocket_url(fmt::format("wss://{}:{}/bus", host, port)),
                           .trust = std::make_shared<TlsTrust>(std::move(ca_file))};
    return runtime::block_on(loop_, connect_websocket(loop_, pool_, std::move(start), {}));
  }
  std::string receive(WebSocket& socket) {
    const Result<std::optional<Message>> message = runtime::block_on(loop_, socket.receive({}));
    return message && *message ? (*message)->data : "nothing";
  }
  std::string problem(std::uint16_t port, std::string_view host, std::string ca_file) {
    const auto socket = connect(port, host, std::move(ca_file));
    return socket ? "connected" : socket.error().message;
  }
};

TEST_F(TlsClientTest, AWebSocketOverTlsWithAnAuthorityOfItsOwn) {
  start(echo);
  const TestCertificates certificates;
  const TlsTunnel tunnel(certificates, port_);
  for (const std::string_view host : {"localhost", "127.0.0.1"}) {
    const auto socket = connect(tunnel.port(), host, certificates.file("ca.pem"));
    ASSERT_TRUE(socket) << socket.error().message;
    for (const size_t size : {1u, 126u, 16'384u, 16'385u, 300'000u, 2'000'000u}) {
      const std::string text(size, static_cast<char>('a' + size % 23));
      ASSERT_TRUE((*socket)->send_text(text));
      EXPECT_EQ(receive(**socket) == text, true) << size;
    }
    // Many at once come in a few records, and none of them waits for bytes that have come already.
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE((*socket)->send_text(fmt::format("m{}", i)));
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(receive(**socket), fmt::format("m{}", i));
    ASSERT_TRUE((*socket)->send_text("bye"));
    EXPECT_EQ(receive(**socket), "bye");
    EXPECT_EQ(receive(**socket), "nothing");
  }
}

TEST_F(TlsClientTest, WhoCannotBeTrustedIsNotTalkedTo) {
  start(echo);
  const TestCertificates certificates;
  const TestCertificates others;
  const TlsTunnel tunnel(certificates, port_);
  EXPECT_NE(problem(tunnel.port(), "localhost", "").find("certificate is not trusted"), std::string::npos);
  EXPECT_NE(problem(tunnel.port(), "localhost", others.file("ca.pem")).find("certificate is not trusted"),
            std::string::npos);
  const TestCertificates elsewhere("DNS:elsewhere.example,IP:127.0.0.7");
  const TlsTunnel misled(elsewhere, port_);
  EXPECT_NE(problem(misled.port(), "localhost", elsewhere.file("ca.pem")).find("hostname mismatch"),
            std::string::npos);
  EXPECT_NE(problem(misled.port(), "127.0.0.1", elsewhere.file("ca.pem")).find("IP address mismatch"),
            std::string::npos);
  EXPECT_NE(problem(tunnel.port(), "localhost", certificates.file("none.pem")).find("none.pem"),
            std::string::npos);
  EXPECT_NE(problem(tunnel.port(), "localhost", certificates.file("server.key")).find("server.key"),
            std::string::npos);
}

TEST_F(TlsClientTest, WhoSpeaksNoTlsIsAnErrorAndNoWait) {
  start([](std::shared_ptr<Exchange> exchange) -> Task<> {
    exchange->reply({.status = 200});
    co_return;
  });
  EXPECT_NE(problem(port_, "localhost", "").find("no TLS connection"), std::string::npos);
  const RawServer silent([](RawSocket& socket) { socket.read_to_end(); });
  ConnectWebSocket start{.url = *parse_websocket_url(fmt::format("wss://localhost:{}", silent.port()))};
  start.timeout = 20ms;
  const auto socket = runtime::block_on(loop_, connect_websocket(loop_, pool_, std::move(start), {}));
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, Code::kTimeout);
}

TEST_F(TlsClientTest, APeerThatBreaksOffEndsTheConnection) {
  start(echo);
  const TestCertificates certificates;
  const TlsTunnel tunnel(certificates, port_);
  const auto socket = connect(tunnel.port(), "localhost", certificates.file("ca.pem"));
  ASSERT_TRUE(socket) << socket.error().message;
  server_.reset();  // and the tunnel with its connection
  EXPECT_EQ(receive(**socket), "nothing");
}

}  // namespace
}  // namespace chela::net
