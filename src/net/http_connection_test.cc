#include "net/http_connection.h"

#include <fcntl.h>

#include "runtime/sleep.h"
#include "testing/http_fixture.h"

// Requests whose bodies are streamed; what all servers do is in http_server_test.cc.
namespace chela::net {
namespace {

using testing::RawSocket;

constexpr std::uint64_t kLimit = 64 * 1024 * 1024;
constexpr size_t kPiece = 64 * 1024;       // what one read from a socket gives at most
constexpr size_t kBig = 32 * 1024 * 1024;  // of an answer: more than the kernel takes

class StreamedBodyTest : public testing::HttpFixture {
 protected:
  void serve(HttpServerOptions options = {}) {
    options.stream_limit = [](const HttpRequest& head) -> std::optional<std::uint64_t> {
      if (head.path.starts_with("/whole")) return std::nullopt;
      return head.path == "/small" ? 10 : kLimit;
    };
    start([this](std::shared_ptr<Exchange> exchange) { return handle(std::move(exchange)); },
          std::move(options));
  }

  Task<> handle(std::shared_ptr<Exchange> exchange) {
    ++requests;
    const std::string& path = exchange->request().path;
    if (path == "/ignore" || path == "/whole") {
      co_return exchange->reply({.body = fmt::format("{} {}", path, exchange->request().body.size())});
    }
    if (path == "/gated") {
      gate.emplace(loop_);
      co_await *gate;
    }
    if (path == "/late") (void)co_await runtime::sleep_for(loop_, 60ms, {});
    if (path == "/whole/big") co_return exchange->reply({.body = std::string(kBig, 'x')});
    if (path == "/early") exchange->reply({.body = "early"});
    if (path == "/early/big") exchange->reply({.body = std::string(kBig, 'x')});
    std::string all;
    for (;;) {
      Result<std::optional<std::string>> piece = co_await exchange->read_body({});
      if (!piece) {
        failed = std::string(code_name(piece.error().code));
        if (!path.starts_with("/early"))
          exchange->reply({.status = http_status(piece.error().code), .body = failed});
        co_return;
      }
      if (!*piece) break;
      EXPECT_FALSE((*piece)->empty());
      most = std::max(most, (*piece)->size());
      bytes += (*piece)->size();
      if (all.size() < 100) all += **piece;
    }
    ++ended;
    if (!path.starts_with("/early"))
      exchange->reply({.body = fmt::format("{}: {}", bytes, all.substr(0, 100))});
  }

  static std::string head(std::string_view path, std::string_view fields) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: h\r\n{}\r\n", path, fields);
  }
  static std::string with_length(std::string_view path, size_t length) {
    return head(path, fmt::format("Content-Length: {}\r\n", length));
  }
  static std::string chunked(std::string_view path) { return head(path, "Transfer-Encoding: chunked\r\n"); }

  int requests = 0, ended = 0;
  std::string failed;
  size_t bytes = 0, most = 0;
  std::optional<runtime::Completion<bool>> gate;
};

constexpr std::string_view kNext = "GET /whole HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
constexpr std::string_view kNextAnswer = "/whole 0";

TEST_F(StreamedBodyTest, GoesToItsHandlerAndTheNextRequestFollows) {
  serve();
  const std::string replies = exchange(with_length("/read", 5) + "hello" + chunked("/read") +
                                       "3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n" +
                                       with_length("/read", 0) + std::string(kNext));
  EXPECT_TRUE(replies.contains("\r\n\r\n5: helloHTTP/1.1 200")) << replies;
  EXPECT_TRUE(replies.contains("\r\n\r\n10: abcdeHTTP/1.1 200")) << replies;
  EXPECT_TRUE(replies.contains("\r\n\r\n10: HTTP/1.1 200")) << replies;
  EXPECT_TRUE(replies.ends_with(kNextAnswer)) << replies;
}

// The handler has begun before the body comes.
TEST_F(StreamedBodyTest, BeginsAtTheEndOfTheHead) {
  serve();
  const std::string reply = client([this] {
    RawSocket socket = RawSocket::connect_tcp(port_);
    socket.send(head("/read", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: close\r\n"));
    EXPECT_EQ(socket.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    for (const char c : std::string_view("5\r\nhello\r\n0\r\nA: b\r\n\r\n")) socket.send(std::string(1, c));
    return socket.read_to_end();
  });
  EXPECT_TRUE(reply.ends_with("5: hello")) << reply;
}

TEST_F(StreamedBodyTest, IsToldToComeOnlyWhenItIsRead) {
  serve();
  // "100 Continue" is not said to who is answered without, and what it sends after all is no request.
  const std::string refused = exchange(head("/ignore", "Content-Length: 30\r\nExpect: 100-continue\r\n"));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 200 OK")) << refused;
  EXPECT_TRUE(refused.contains("Connection: close\r\n"));
  const std::string smuggled = exchange(head("/ignore", "Content-Length: 60\r\nExpect: 100-continue\r\n") +
                                        "GET /whole HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_FALSE(smuggled.contains(kNextAnswer)) << smuggled;
  // Nor to one that does not wait for it, nor after the response.
  EXPECT_FALSE(
      exchange(head("/read", "Content-Length: 1\r\nExpect: 100-continue\r\nConnection: close\r\n") + "x")
          .contains("100 Continue"));
  const std::string early = client([this] {
    RawSocket socket = RawSocket::connect_tcp(port_);
    socket.send(head("/early", "Content-Length: 4\r\nExpect: 100-continue\r\n"));
    std::string reply = socket.read_until("early");
    socket.send("body");
    return reply + socket.read_to_end();
  });
  EXPECT_FALSE(early.contains("100 Continue")) << early;
  EXPECT_EQ(ended, 2);
}

TEST_F(StreamedBodyTest, AClientIsHeldBackWhileNobodyReads) {
  serve({.body_idle_timeout = 20ms});
  RawSocket socket = RawSocket::connect_tcp(port_);
  socket.send(with_length("/gated", kLimit));
  loop_.run_until([this] { return gate.has_value(); });
  ASSERT_EQ(::fcntl(socket.fd(), F_SETFL, O_NONBLOCK), 0);
  size_t sent = 0;
  const std::string block(kPiece, 'x');
  for (int idle = 0; idle < 50;) {
    const ssize_t n = ::write(socket.fd(), block.data(), std::min(block.size(), kLimit - sent));
    idle = n > 0 ? 0 : idle + 1;
    sent += n > 0 ? static_cast<size_t>(n) : 0;
    runtime::block_on(loop_, runtime::yield(loop_));
  }
  constexpr size_t kKernels = 16 * 1024 * 1024;  // what those of both ends may take
  EXPECT_LT(sent, kMaxBodyAhead + kPiece + kKernels);
  // It is not its client's fault.
  runtime::block_on(loop_, runtime::sleep_for(loop_, 40ms, {}));
  EXPECT_EQ(failed, "");
  ASSERT_EQ(::fcntl(socket.fd(), F_SETFL, 0), 0);
  gate->resolve(true);
  const std::string reply = client([&socket, &block, sent]() mutable {
    for (; sent < kLimit; sent += std::min(block.size(), kLimit - sent))
      socket.send(std::string_view(block).substr(0, kLimit - sent));
    return socket.read_response();
  });
  EXPECT_TRUE(reply.contains(fmt::format("{}: xxx", kLimit))) << reply.substr(0, 300);
  EXPECT_LE(most, kMaxBodyAhead + kPiece);
}

TEST_F(StreamedBodyTest, ThatIsCutShortIsNoWholeOne) {
  serve();
  for (const std::string& request :
       {with_length("/read", 100) + "half", chunked("/read") + "5\r\nhello\r\n",
        chunked("/read") + "5\r\nhel", chunked("/read") + "5\r\nhello\r\n0\r\n"}) {
    for (const bool reset : {false, true}) {
      failed.clear();
      client([this, &request, reset] {
        RawSocket socket = RawSocket::connect_tcp(port_);
        socket.send(request);
        if (reset) socket.reset();
        return 0;
      });
      loop_.run_until([this] { return !failed.empty() && server_->connections() == 0; });
      EXPECT_EQ(failed, "unavailable") << request;
    }
  }
  EXPECT_EQ(ended, 0);
  // Who has only ended its sending side hears of it.
  const std::string told = client([this] {
    RawSocket socket = RawSocket::connect_tcp(port_);
    socket.send(with_length("/read", 100) + "half");
    socket.shutdown_send();
    return socket.read_to_end();
  });
  EXPECT_TRUE(told.starts_with("HTTP/1.1 503 ")) << told;
}

TEST_F(StreamedBodyTest, ThatCannotBeReadOnIsTheLastOfItsConnection) {
  serve();
  for (const auto& [rest, code] : {std::pair("zz\r\n", "invalid_argument"),
                                   {"5\r\nhelloX\r\n", "invalid_argument"},
                                   {"ffffffffffffffff1\r\n", "invalid_argument"},
                                   {"5000000\r\n", "too_large"},
                                   {"-1\r\n", "invalid_argument"},
                                   {"0x5\r\nhello\r\n", "invalid_argument"}}) {
    failed.clear();
    const std::string replies = client([this, rest] {
      RawSocket socket = RawSocket::connect_tcp(port_);
      socket.send(head("/read", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"));
      std::string all = socket.read_until("\r\n\r\n");
      socket.send(std::string(rest) + "0\r\n\r\n" + std::string(kNext));
      return all + socket.read_to_end();
    });
    EXPECT_EQ(failed, code) << rest;
    EXPECT_TRUE(replies.contains("Connection: close\r\n")) << replies;
    EXPECT_TRUE(replies.ends_with(code)) << replies;
  }
}

TEST_F(StreamedBodyTest, IsRefusedAtItsHeadWhenThatIsEnough) {
  serve();
  EXPECT_TRUE(exchange(with_length("/small", 11)).starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(exchange(with_length("/read", kLimit + 1)).starts_with("HTTP/1.1 413 "));
  for (const char* fields :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5, 5\r\n", "Content-Length: +5\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: chunked\r\n , identity\r\n"}) {
    const std::string refused = exchange(head("/read", fields) + "hello" + std::string(kNext));
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 400 ")) << fields << refused;
    EXPECT_FALSE(refused.contains(kNextAnswer)) << fields;
  }
  EXPECT_EQ(requests, 0);
}

TEST_F(StreamedBodyTest, AStalledClientIsTold) {
  serve({.body_idle_timeout = 20ms});
  for (const std::string& request : {with_length("/read", 100) + "half", chunked("/read") + "5\r\nhe"}) {
    const std::string reply = exchange(request);
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 504 ")) << reply;  // this handler's answer
    EXPECT_TRUE(reply.ends_with("timeout")) << reply;
    EXPECT_TRUE(reply.contains("Connection: close\r\n")) << reply;
  }
  // Who waits to be told to go on does not stall.
  const std::string late = client([this] {
    RawSocket socket = RawSocket::connect_tcp(port_);
    socket.send(head("/late", "Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n"));
    socket.read_until("\r\n\r\n");
    socket.send("ok");
    return socket.read_to_end();
  });
  EXPECT_TRUE(late.ends_with(": ok")) << late;
}

// Each byte comes in time, but there is no end of them.
TEST_F(StreamedBodyTest, AClientThatDripsIsTold) {
  serve({.body_idle_timeout = 100ms});
  for (const char* path : {"/read", "/early"}) {
    failed.clear();
    RawSocket socket = RawSocket::connect_tcp(port_);
    socket.send(with_length(path, kLimit));
    for (int i = 0; failed.empty() && i < 500; ++i) {
      socket.send("x");
      runtime::block_on(loop_, runtime::sleep_for(loop_, 10ms, {}));
    }
    EXPECT_EQ(failed, "timeout") << path;
  }
}

TEST_F(StreamedBodyTest, ThatNobodyReadsHasSoLongAndNotLonger) {
  serve({.body_idle_timeout = 50ms, .linger_timeout = 0ms});
  RawSocket socket = RawSocket::connect_tcp(port_);
  socket.send(with_length("/ignore", kMaxDroppedBody));
  loop_.run_until([this] { return requests == 1; });
  // Much faster than the slowest rate.
  const std::string piece(4 * kSlowestBodyRate, 'x');
  for (int i = 0; server_->connections() > 0 && i < 500; ++i) {
    socket.send(piece);
    runtime::block_on(loop_, runtime::sleep_for(loop_, 10ms, {}));
  }
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(StreamedBodyTest, ThatNobodyReadsIsDroppedAndTheNextRequestFollows) {
  serve();
  const std::string body(300'000, 'x');
  const std::string replies = exchange(with_length("/ignore", body.size()) + body + chunked("/ignore") +
                                       "4\r\nbody\r\n0\r\n\r\n" + with_length("/ignore", kMaxDroppedBody) +
                                       std::string(kMaxDroppedBody, 'y') + std::string(kNext));
  EXPECT_EQ(requests, 4);
  EXPECT_TRUE(replies.ends_with(kNextAnswer)) << replies;
}

// The answer's end does not wait for the rest of a request that was its connection's last.
TEST_F(StreamedBodyTest, ThatNobodyReadsHoldsNoLastAnswerBack) {
  serve({.linger_timeout = 1h});
  const std::string fields = "Connection: close\r\nContent-Length: 3000000\r\n";
  EXPECT_TRUE(exchange(head("/ignore", fields)).ends_with("/ignore 0"));
  EXPECT_TRUE(exchange(head("/ignore", fields) + std::string(3'000'000, 'x')).ends_with("/ignore 0"));
}

TEST_F(StreamedBodyTest, ThatNobodyReadsAndIsLongEndsTheConnection) {
  serve({.linger_timeout = 20ms});
  const std::string long_one = client([this] {
    RawSocket socket = RawSocket::connect_tcp(port_);
    socket.send(with_length("/ignore", kMaxDroppedBody + 1));
    return socket.read_to_end();
  });
  EXPECT_TRUE(long_one.contains("Connection: close\r\n")) << long_one;
  EXPECT_TRUE(long_one.ends_with("/ignore 0")) << long_one;
  // Of a chunked one nobody knows before.
  const bool sent_all = client([this] {
    RawSocket socket = RawSocket::connect_tcp(port_);
    bool open = socket.send(chunked("/ignore"));
    const std::string chunk = "10000\r\n" + std::string(65536, 'x') + "\r\n";
    for (int i = 0; open && i < 1000; ++i) open = socket.send(chunk);
    return open;
  });
  EXPECT_FALSE(sent_all);
  loop_.run_until([this] { return server_->connections() == 0; });
}

TEST_F(StreamedBodyTest, CanBeReadAfterTheResponse) {
  serve();
  const std::string replies = client([this] {
    RawSocket socket = RawSocket::connect_tcp(port_);
    socket.send(with_length("/early", 200'000) + std::string(100'000, 'x'));
    std::string all = socket.read_until("early");
    socket.send(std::string(100'000, 'x') + std::string(kNext));
    return all + socket.read_to_end();
  });
  EXPECT_TRUE(replies.ends_with(kNextAnswer)) << replies;
  EXPECT_EQ(bytes, 200'000U);
  EXPECT_EQ(ended, 1);
}

TEST_F(StreamedBodyTest, AStoppedServerCutsIt) {
  serve();
  RawSocket socket = RawSocket::connect_tcp(port_);
  socket.send(with_length("/read", 100) + "half");
  RawSocket answered = RawSocket::connect_tcp(port_);
  answered.send(with_length("/early", 100) + "half");
  loop_.run_until([this] { return requests == 2; });
  stop(0ms);
  EXPECT_EQ(failed, "unavailable");
  EXPECT_EQ(ended, 0);
}

// With the request's body, and with the next request.
TEST_F(StreamedBodyTest, AStoppedServerSendsItsAnswersToTheirEnd) {
  for (const std::string& request : {with_length("/early/big", 100) + "half", with_length("/whole/big", 0),
                                     with_length("/whole/big", 0) + "GET /next HTTP/1.1\r\n"}) {
    requests = 0;
    serve({.linger_timeout = 10s});
    runtime::TaskGroup group(loop_);
    struct Stop {
      static Task<> when_answered(runtime::EventLoop& loop, HttpServer& server, const int& requests) {
        while (requests == 0) co_await runtime::yield(loop);
        co_await runtime::yield(loop);
        co_await server.stop(10s);
      }
    };
    group.spawn(Stop::when_answered(loop_, *server_, requests));
    const std::string reply = exchange(request);
    runtime::block_on(loop_, group.join());
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 ")) << reply.substr(0, 300);
    EXPECT_GT(reply.size(), kBig) << request;
  }
}

TEST(HttpServerOptions, BeginWithTheLimitsOfStreamedBodies) {
  EXPECT_EQ(HttpServerOptions().body_idle_timeout, kBodyIdleTimeout);
  EXPECT_FALSE(HttpServerOptions().stream_limit);
}

}  // namespace
}  // namespace chela::net
