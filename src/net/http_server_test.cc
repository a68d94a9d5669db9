#include "net/http_server.h"

#include "net/sse.h"
#include "runtime/sleep.h"
#include "testing/http_fixture.h"

namespace chela::net {
namespace {

using testing::RawSocket;

HttpResponse text(std::string body) {
  return {.status = 200, .headers = {{{"Content-Type", "text/plain"}}}, .body = std::move(body)};
}

// What the handlers of a test saw.
struct Seen {
  int gone = 0;
  int requests = 0;
  std::string write_error;
  std::shared_ptr<Exchange> kept;
};

Task<> wait_until_gone(runtime::EventLoop& loop, std::shared_ptr<Exchange> exchange, Seen& seen) {
  const Result<> slept = co_await runtime::sleep_for(loop, 1h, exchange->client_gone());
  if (!slept) ++seen.gone;
  exchange->reply(text("late"));
}

Task<> stream_parts(std::shared_ptr<Exchange> exchange) {
  EXPECT_TRUE(exchange->begin_stream(200, {{{"Content-Type", "text/plain"}}}));
  for (const char* part : {"one", "", "two"}) {
    EXPECT_TRUE(exchange->write(part));
    const Result<> sent = co_await exchange->drained(0, {});
    EXPECT_TRUE(sent) << sent.error().text();
  }
  exchange->end_stream();
}

// Sends events until the client's unsent bytes pass the limit.
Task<> flood(runtime::EventLoop& loop, std::shared_ptr<Exchange> exchange, Seen& seen) {
  const std::string event = format_sse("tick", "", std::string(8000, 'x'));
  EXPECT_TRUE(exchange->begin_stream(200, {{{"Content-Type", "text/event-stream"}}}));
  while (true) {
    if (const Result<> written = exchange->write(event); !written) {
      seen.write_error = written.error().message;
      EXPECT_EQ(written.error().code, Code::kUnavailable);
      exchange->abort();
      co_return;
    }
    EXPECT_LE(exchange->pending(), 200'000u);
    co_await runtime::yield(loop);
  }
}

class HttpServerTest : public testing::HttpFixture {
 protected:
  void serve(HttpServerOptions options = {}) {
    start([this](std::shared_ptr<Exchange> exchange) { return handle(loop_, seen_, std::move(exchange)); },
          std::move(options));
  }

  static Task<> handle(runtime::EventLoop& loop, Seen& seen, std::shared_ptr<Exchange> exchange) {
    ++seen.requests;
    const HttpRequest& request = exchange->request();
    if (request.path == "/none") co_return;
    if (request.path == "/wait") co_return co_await wait_until_gone(loop, exchange, seen);
    if (request.path == "/stream") co_return co_await stream_parts(exchange);
    if (request.path == "/flood") co_return co_await flood(loop, exchange, seen);
    if (request.path == "/cut") {
      EXPECT_TRUE(exchange->begin_stream(200, {}));
      EXPECT_TRUE(exchange->write("half"));
      co_await exchange->drained(0, {});
      co_return;
    }
    if (request.path == "/bad-header")
      co_return exchange->reply({.headers = {{{"X-A", "1\r\nX-B: 2"}}}, .body = "x"});
    if (request.path == "/empty") co_return exchange->reply({.status = 204});
    if (request.path == "/later") co_await runtime::sleep_for(loop, 5ms, {});
    if (request.path == "/big") co_return exchange->reply(text(std::string(3'000'000, 'b')));
    if (request.path == "/keep") {
      seen.kept = exchange;
      co_return exchange->reply(text("kept"));
    }
    exchange->reply(text(fmt::format("{} {} {} {} {}", request.method, request.path, request.query,
                                     request.body.size(), request.peer)));
  }

  Seen seen_;
};

constexpr std::string_view kGet = "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kGetClose = "GET /z HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

TEST_F(HttpServerTest, KeepsConnectionsAlive) {
  serve();
  const std::string replies = client([port = port_] {
    RawSocket socket = RawSocket::connect_tcp(port);
    std::string all;
    for (int i = 0; i < 3; ++i) {
      socket.send(kGet);
      all += socket.read_response() + "\n";
    }
    socket.send("GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    all += socket.read_response();
    socket.send("GET /x HTTP/1.0\r\n\r\n");
    return all + socket.read_to_end();
  });
  EXPECT_EQ(seen_.requests, 5);
  EXPECT_TRUE(replies.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << replies;
  EXPECT_NE(replies.find("\r\n\r\nGET /a b=c 0 127.0.0.1:"), std::string::npos) << replies;
  EXPECT_NE(replies.find("Connection: keep-alive"), std::string::npos);
  EXPECT_NE(replies.find("Connection: close"), std::string::npos);
}

TEST_F(HttpServerTest, AnswersAPipelineInOrder) {
  serve();
  std::string pipeline =
      "GET /later HTTP/1.1\r\nHost: h\r\n\r\nPOST /p1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
  for (int i = 2; i < 200; ++i) pipeline += fmt::format("GET /p{} HTTP/1.1\r\nHost: h\r\n\r\n", i);
  const std::string replies = exchange(pipeline + std::string(kGetClose));
  size_t at = replies.find("GET /later");
  ASSERT_NE(at, std::string::npos);
  for (int i = 1; i < 200; ++i) {
    const size_t next = replies.find(fmt::format(" /p{} ", i), at);
    ASSERT_NE(next, std::string::npos) << i;
    at = next;
  }
  EXPECT_NE(replies.find("POST /p1  3 "), std::string::npos);
  EXPECT_NE(replies.find("GET /z", at), std::string::npos);
}

// More than is read ahead while the first request is handled.
TEST_F(HttpServerTest, ALongPipelineWaitsInTheSocket) {
  serve();
  std::string pipeline = "GET /later HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string body(10'000, 'x');
  for (size_t bytes = 0; bytes < 8 * kMaxPipelinedBytes; bytes += body.size()) {
    pipeline += "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n" + body;
  }
  const std::string replies = exchange(pipeline + std::string(kGetClose));
  EXPECT_NE(replies.find("GET /z"), std::string::npos);
  EXPECT_EQ(seen_.requests, 2 + 53);
}

TEST_F(HttpServerTest, ReadsChunkedBodiesAndAnswersContinue) {
  serve();
  const auto [interim, reply] = client([port = port_] {
    RawSocket socket = RawSocket::connect_tcp(port);
    socket.send(
        "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: "
        "close\r\n\r\n");
    std::string first = socket.read_until("\r\n\r\n");
    socket.send("5\r\nhello\r\n0\r\n\r\n");
    return std::pair(first, socket.read_to_end());
  });
  EXPECT_EQ(interim, "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_NE(reply.find("POST /c  5 "), std::string::npos);
}

TEST_F(HttpServerTest, StreamsInChunksOrUntilTheClose) {
  serve();
  const std::string chunked = exchange("GET /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(chunked.find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_TRUE(chunked.ends_with("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")) << chunked;
  const std::string plain = exchange("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(plain.find("chunked"), std::string::npos);
  EXPECT_TRUE(plain.ends_with("\r\n\r\nonetwo")) << plain;
  const std::string head = exchange("HEAD /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST_F(HttpServerTest, HeadHasTheLengthButNoBody) {
  serve();
  const std::string replies =
      exchange("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + std::string("GET /empty HTTP/1.1\r\nHost: h\r\n\r\n") +
               std::string(kGetClose));
  EXPECT_EQ(replies.find("HEAD /a"), std::string::npos);
  EXPECT_NE(replies.find("Content-Length: "), std::string::npos);
  const size_t empty = replies.find("HTTP/1.1 204");
  ASSERT_NE(empty, std::string::npos);
  EXPECT_GT(replies.find("Content-Length: ", empty), replies.find("HTTP/1.1 200", empty));
}

TEST_F(HttpServerTest, RefusesWithTheEnvelope) {
  HttpServerOptions options;
  options.body_limit = [](std::string_view path) { return path == "/small" ? size_t{10} : size_t{100}; };
  options.max_header_bytes = 500;
  serve(std::move(options));
  const std::string garbage = exchange("garbage\r\n\r\n");
  EXPECT_TRUE(garbage.starts_with("HTTP/1.1 400 ")) << garbage;
  EXPECT_NE(garbage.find(R"({"error":{"code":"invalid_argument","message":)"), std::string::npos) << garbage;
  // The answer comes although the body never does.
  const std::string large = exchange("POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n");
  EXPECT_TRUE(large.starts_with("HTTP/1.1 413 ")) << large;
  EXPECT_NE(large.find("too_large"), std::string::npos);
  const std::string body = std::string(400'000, 'x');
  EXPECT_TRUE(exchange("POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 400000\r\n\r\n" + body)
                  .starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(exchange("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(600, 'x') + "\r\n\r\n")
                  .starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(
      exchange("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")
          .starts_with("HTTP/1.1 400 "));
  EXPECT_EQ(seen_.requests, 0);
  EXPECT_TRUE(
      exchange("GET /none HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 500 "));
  const std::string split = exchange("GET /bad-header HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(split.starts_with("HTTP/1.1 500 ")) << split;
  EXPECT_EQ(split.find("X-B"), std::string::npos);
}

TEST_F(HttpServerTest, ARefusedClientThatGoesOnSendingIsCut) {
  serve({.linger_timeout = 1h});
  const std::string within = client([port = port_] {
    RawSocket socket = RawSocket::connect_tcp(port);
    EXPECT_TRUE(socket.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n"));
    EXPECT_TRUE(socket.send(std::string(kMaxLingerBytes, 'x')));
    socket.shutdown_send();
    return socket.read_to_end();
  });
  EXPECT_TRUE(within.starts_with("HTTP/1.1 413 ")) << within;
  const bool sent_all = client([port = port_] {
    RawSocket socket = RawSocket::connect_tcp(port);
    bool open = socket.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n");
    const std::string block(100'000, 'x');
    for (int i = 0; open && i < 1000; ++i) open = socket.send(block);
    return open;
  });
  EXPECT_FALSE(sent_all);
  loop_.run_until([this] { return server_->connections() == 0; });
}

TEST_F(HttpServerTest, ARefusedClientThatStaysIsClosed) {
  serve({.linger_timeout = 20ms});
  const std::string refused = client([port = port_] {
    RawSocket socket = RawSocket::connect_tcp(port);
    socket.send("garbage\r\n\r\n");
    std::string reply = socket.read_to_end();
    while (socket.send("x")) {
    }
    return reply;
  });
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 400 ")) << refused;
}

TEST_F(HttpServerTest, ASlowRequestTimesOutAndAnIdleClientIsClosed) {
  serve({.request_timeout = 20ms, .idle_timeout = 20ms});
  const std::string slow = exchange("GET / HTTP/1.1\r\nHost: h\r\n");
  EXPECT_TRUE(slow.starts_with("HTTP/1.1 408 ")) << slow;
  EXPECT_EQ(exchange(""), "");
  EXPECT_EQ(seen_.requests, 0);
}

TEST_F(HttpServerTest, TheHeadHasATimeOfItsOwn) {
  serve({.header_timeout = 20ms, .request_timeout = 1h});
  const std::string slow = exchange("GET / HTTP/1.1\r\nHost: h\r\n");
  EXPECT_TRUE(slow.starts_with("HTTP/1.1 408 ")) << slow;
  // A body may take longer than its head: the second byte comes when the head's time is long over.
  const std::string reply = client([port = port_] {
    RawSocket socket = RawSocket::connect_tcp(port);
    socket.send("POST /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\na");
    RawSocket later = RawSocket::connect_tcp(port);
    later.send("GET /");
    later.read_to_end();  // its head's time began later
    socket.send("b");
    return socket.read_to_end();
  });
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 ")) << reply;
}

TEST_F(HttpServerTest, ARefusedConnectionIsHeardFirst) {
  HttpServerOptions options;
  options.max_connections = 1;
  options.refusal = [](int status, const Error&, std::string_view path) {
    return HttpResponse{.status = status, .body = fmt::format("refused: {}", path)};
  };
  serve(std::move(options));
  const std::string second = client([port = port_] {
    RawSocket one = RawSocket::connect_tcp(port);
    one.send(kGet);
    one.read_response();
    RawSocket two = RawSocket::connect_tcp(port);
    two.send("POST /v1/chat?x=y HTTP/1.1\r\nHost: h\r\nContent-Le");
    return two.read_to_end();
  });
  EXPECT_TRUE(second.starts_with("HTTP/1.1 503 ")) << second;
  EXPECT_TRUE(second.ends_with("\r\n\r\nrefused: /v1/chat")) << second;
}

// However many come at once: those that are heard are few, and all get their answer.
TEST_F(HttpServerTest, RefusedConnectionsAreBounded) {
  serve({.max_connections = 1, .refused_request_wait = 1h});
  const auto [unheard, held] = client([port = port_] {
    RawSocket one = RawSocket::connect_tcp(port);
    one.send(kGet);
    one.read_response();
    std::vector<RawSocket> silent;
    for (size_t i = 0; i < kMaxRefusedConnections; ++i) silent.push_back(RawSocket::connect_tcp(port));
    RawSocket last = RawSocket::connect_tcp(port);
    std::string answer = last.read_to_end();
    silent.front().send("GET / HTTP/1.1\r\n");
    return std::pair(answer, silent.front().read_to_end());
  });
  EXPECT_TRUE(unheard.starts_with("HTTP/1.1 503 ")) << unheard;
  EXPECT_TRUE(held.starts_with("HTTP/1.1 503 ")) << held;
}

TEST_F(HttpServerTest, RefusesConnectionsPastTheLimit) {
  serve({.max_connections = 1, .refused_request_wait = 5ms});
  const auto [first, second, third] = client([port = port_] {
    RawSocket one = RawSocket::connect_tcp(port);
    one.send(kGet);
    std::string a = one.read_response();
    RawSocket two = RawSocket::connect_tcp(port);
    std::string b = two.read_to_end();
    one.send(kGetClose);
    one.read_to_end();
    RawSocket three = RawSocket::connect_tcp(port);
    three.send(kGetClose);
    return std::tuple(a, b, three.read_to_end());
  });
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(second.starts_with("HTTP/1.1 503 ")) << second;
  EXPECT_NE(second.find("Retry-After: 1"), std::string::npos);
  EXPECT_TRUE(third.starts_with("HTTP/1.1 200 ")) << third;
}

TEST_F(HttpServerTest, AWorkingHandlerLearnsThatItsClientLeft) {
  serve();
  for (const bool reset : {false, true}) {
    client([port = port_, reset] {
      RawSocket socket = RawSocket::connect_tcp(port);
      socket.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\nGET /pipelined HTTP/1.1\r\n");
      if (reset) socket.reset();
      return 0;
    });
  }
  loop_.run_until([this] { return seen_.gone == 2 && server_->connections() == 0; });
}

TEST_F(HttpServerTest, AHalfClosedClientStillGetsItsAnswer) {
  serve();
  const std::string reply = client([port = port_] {
    RawSocket socket = RawSocket::connect_tcp(port);
    socket.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    socket.shutdown_send();
    return socket.read_to_end();
  });
  EXPECT_TRUE(reply.ends_with("late")) << reply;
}

TEST_F(HttpServerTest, CutsAReaderThatStallsAtTheLimit) {
  serve({.max_write_buffer = 200'000});
  const std::string got = client([port = port_] {
    RawSocket socket = RawSocket::connect_slow(port);
    socket.send("GET /flood HTTP/1.1\r\nHost: h\r\n\r\n");
    std::string head = socket.read_until("\r\n\r\n");
    // Reads nothing more until the server gave up; then what is on its way, which ends without a last chunk.
    return head;
  });
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200 "));
  loop_.run_until([this] { return !seen_.write_error.empty() && server_->connections() == 0; });
}

TEST_F(HttpServerTest, CutsAReaderThatTakesNothingOfALongReply) {
  serve({.write_stall_timeout = 30ms});
  const size_t got = client([port = port_] {
    RawSocket socket = RawSocket::connect_slow(port);
    socket.send("GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
    // The server's close is seen without reading: a peer that only half closed would still take this.
    while (socket.send("x")) {
    }
    return socket.read_to_end().size();
  });
  EXPECT_LT(got, 3'000'000u);
}

TEST_F(HttpServerTest, SendsLongRepliesWhole) {
  serve();
  const std::string reply = exchange("GET /big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(reply.size() - reply.find("\r\n\r\n") - 4, 3'000'000u);
}

TEST_F(HttpServerTest, AStreamThatIsNotEndedIsCut) {
  serve();
  const std::string reply = exchange("GET /cut HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(reply.ends_with("4\r\nhalf\r\n")) << reply;
}

TEST_F(HttpServerTest, AnExchangeMayOutliveItsConnection) {
  serve();
  exchange("GET /keep HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(seen_.kept);
  EXPECT_FALSE(seen_.kept->write("x"));
  EXPECT_FALSE(runtime::block_on(loop_, seen_.kept->drained(0, {})));
  stop(0ms);
  server_.reset();
  seen_.kept.reset();
}

TEST_F(HttpServerTest, StopTellsHandlersAndFinishesTheirAnswers) {
  serve();
  runtime::TaskGroup group(loop_);
  struct Stop {
    static Task<> when_busy(runtime::EventLoop& loop, HttpServer& server, Seen& seen) {
      while (seen.requests == 0) co_await runtime::yield(loop);
      co_await server.stop(10s);
    }
  };
  group.spawn(Stop::when_busy(loop_, *server_, seen_));
  const std::string reply = exchange("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  runtime::block_on(loop_, group.join());
  EXPECT_TRUE(reply.ends_with("late")) << reply;
  EXPECT_NE(reply.find("Connection: close"), std::string::npos);
  EXPECT_FALSE(client([port = port_] { return RawSocket::connect_tcp(port).connected(); }));
}

TEST(HttpServerOptions, BeginWithTheLimits) {
  const HttpServerOptions options;
  EXPECT_EQ(options.max_connections, kMaxConnections);
  EXPECT_EQ(options.max_write_buffer, kMaxWriteBufferBytes);
  EXPECT_EQ(options.header_timeout, kHeaderReadTimeout);
  EXPECT_EQ(options.request_timeout, kRequestReadTimeout);
  EXPECT_EQ(options.idle_timeout, kIdleConnectionTimeout);
  EXPECT_EQ(options.write_stall_timeout, kWriteStallTimeout);
  EXPECT_EQ(options.linger_timeout, kLingerTimeout);
  EXPECT_EQ(options.refused_request_wait, kRefusedRequestWait);
}

}  // namespace
}  // namespace chela::net
