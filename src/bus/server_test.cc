#include "bus/server.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "runtime/pool.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"
#include "testing/raw_socket.h"

namespace chela::bus {
namespace {

using testing::RawSocket;

constexpr std::string_view kToken = "worker-token";

// The real server, and blocking workers in pool threads beside it.
class BusServerTest : public ::testing::Test {
 protected:
  void serve(ServerOptions options = {}) {
    options.authenticate = [this](Visitor visitor) { return authenticate(std::move(visitor.token)); };
    server_.emplace(loop_, bus_, metrics_, std::move(options));
    ASSERT_TRUE(server_->listen());
  }
  void TearDown() override {
    runtime::block_on(loop_, bus_.stop());
    if (server_) runtime::block_on(loop_, server_->stop(0ms));
  }

  Task<Result<Admission>> authenticate(std::string token) {
    if (token != kToken) co_return fail(Code::kUnauthenticated, "a token is wanted");
    co_return Admission{.rights = {.principal = {.realm = "default", .user = "ann", .permissions = allowed_},
                                   .ended = ended_.get_token()}};
  }

  // Runs the worker in a thread while the loop serves it.
  template <class Worker>
  std::invoke_result_t<Worker> worker(Worker run) {
    using Value = std::invoke_result_t<Worker>;
    Result<Value> value = runtime::block_on(
        loop_, pool_.run([run = std::move(run)]() mutable -> Result<Value> { return run(); }));
    return *std::move(value);
  }

  // The head of the answer to a handshake.
  static std::string shake_hands(RawSocket& socket, std::string_view target,
                                 std::string_view token = kToken) {
    socket.send(
        fmt::format("GET {} HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: "
                    "Upgrade\r\nAuthorization: Bearer {}\r\n"
                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                    target, token));
    return socket.read_until("\r\n\r\n");
  }
  // Its mask is zero, which is valid and keeps the payload as it is.
  static std::string text_frame(std::string_view payload) {
    std::string out = "\x81\xfe";
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size() & 0xff);
    return out + std::string(4, '\0') + std::string(payload);
  }

  runtime::AsioLoop loop_;
  runtime::Pool pool_{loop_, 2};
  testing::CountingIds ids_;
  obs::Metrics metrics_;
  Bus bus_{BusParts{loop_, ids_, metrics_}, BusOptions{.call_timeout = 60s}};
  std::stop_source ended_;
  op::Permissions allowed_ = {"*"};  // of who shows the token
  std::optional<Server> server_;
};

TEST(BusServerOptions, BeginWithTheLimits) {
  EXPECT_EQ(ServerOptions{}.max_connections, kMaxBusConnections);
  EXPECT_EQ(ServerOptions{}.max_unsent, kMaxUnsentBytes);
}

TEST_F(BusServerTest, GreetsWhoHasATokenAndRefusesOthers) {
  serve();
  const auto [greeting, stranger, elsewhere] = worker([port = server_->port()] {
    RawSocket socket = RawSocket::connect_tcp(port);
    EXPECT_TRUE(shake_hands(socket, "/").starts_with("HTTP/1.1 101 "));
    RawSocket second = RawSocket::connect_tcp(port);
    RawSocket third = RawSocket::connect_tcp(port);
    return std::tuple(socket.read_until("}"), shake_hands(second, "/", "wrong"), shake_hands(third, "/x"));
  });
  EXPECT_NE(greeting.find("workerregistered"), std::string::npos) << greeting;
  EXPECT_TRUE(stranger.starts_with("HTTP/1.1 401 ")) << stranger;
  EXPECT_TRUE(elsewhere.starts_with("HTTP/1.1 404 ")) << elsewhere;
}

TEST_F(BusServerTest, MetricsAreForWhoMayReadThem) {
  obs::Gauge& gauge = metrics_.gauge("test_entries", "Known when somebody looks");
  serve({.measure = [&gauge] { gauge.set(7); }});
  const auto ask = [port = server_->port()](std::string_view method, std::string_view token) {
    RawSocket socket = RawSocket::connect_tcp(port);
    socket.send(fmt::format(
        "{} /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n", method,
        token));
    return socket.read_to_end();
  };
  const auto [good, stranger, posted] =
      worker([&] { return std::tuple(ask("GET", kToken), ask("GET", "wrong"), ask("POST", kToken)); });
  EXPECT_TRUE(good.starts_with("HTTP/1.1 200 ") && good.contains("test_entries 7")) << good;
  EXPECT_TRUE(stranger.starts_with("HTTP/1.1 401 ")) << stranger;
  EXPECT_TRUE(posted.starts_with("HTTP/1.1 400 ")) << posted;
  allowed_ = {"bus:call"};
  const std::string guest = worker([&] { return ask("GET", kToken); });
  EXPECT_TRUE(guest.starts_with("HTTP/1.1 403 ")) << guest;
}

TEST_F(BusServerTest, SoManyWorkersCanBeConnected) {
  serve({.max_connections = 2});
  const auto [second, third] = worker([port = server_->port()] {
    RawSocket one = RawSocket::connect_tcp(port);
    shake_hands(one, "/");
    RawSocket two = RawSocket::connect_tcp(port);
    std::string taken = shake_hands(two, "/");
    RawSocket three = RawSocket::connect_tcp(port);
    return std::pair(taken, shake_hands(three, "/"));
  });
  EXPECT_TRUE(second.starts_with("HTTP/1.1 101 ")) << second;
  EXPECT_TRUE(third.starts_with("HTTP/1.1 503 ")) << third;
}

TEST_F(BusServerTest, AWorkerThatDoesNotReadItsAnswersIsCutOff) {
  serve({.max_unsent = 64 * 1024});
  // Without the limit all of these would be answered.
  constexpr size_t kCalls = 100'000;
  const auto [sent_all, received] = worker([port = server_->port()] {
    RawSocket socket = RawSocket::connect_slow(port);
    shake_hands(socket, "/");
    const std::string call = text_frame(
        fmt::format(R"({{"type":"invokefunction","invocation_id":"c","function_id":"{}","data":{{}}}})",
                    std::string(kMaxIdBytes, 'f')));
    bool open = true;
    for (size_t i = 0; open && i < kCalls; ++i) open = socket.send(call);
    return std::pair(open, socket.read_until("it reads too slowly"));
  });
  size_t answers = 0;
  for (size_t at = received.find("invocationresult"); at != std::string::npos;
       at = received.find("invocationresult", at + 1))
    ++answers;
  EXPECT_LT(answers, kCalls);
  EXPECT_TRUE(!sent_all || received.contains("it reads too slowly"));
  loop_.run_until([this] { return bus_.workers().empty(); });
}

TEST_F(BusServerTest, AWorkersConnectionEndsWithItsToken) {
  serve();
  const std::string said = worker([this, port = server_->port()] {
    RawSocket socket = RawSocket::connect_tcp(port);
    shake_hands(socket, "/");
    std::string all = socket.read_until("}");
    loop_.post([this] { ended_.request_stop(); });
    return all + socket.read_until("has expired");
  });
  EXPECT_TRUE(said.contains("revoked")) << said;
  EXPECT_TRUE(bus_.workers().empty());
}

}  // namespace
}  // namespace chela::bus
