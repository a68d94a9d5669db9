#include "net/websocket.h"

#include "runtime/sleep.h"
#include "testing/http_fixture.h"

namespace chela::net {
namespace {

using testing::RawSocket;

struct Frame {
  int opcode = 0;
  bool final = true;
  std::string payload;
};

// A client that says byte by byte what a test wants, proper or not. Its mask is zero, which is valid and keeps payloads readable.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(RawSocket::connect_tcp(port)) {}

  std::string handshake(std::string_view extra = {}) {
    socket_.send(
        fmt::format("GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n{}",
                    extra));
    return socket_.read_until("\r\n\r\n");
  }

  static std::string frame(int first_byte, std::string_view payload) {
    std::string out(1, static_cast<char>(first_byte));
    if (payload.size() < 126) {
      out += static_cast<char>(0x80 | payload.size());
    } else if (payload.size() <= 0xffff) {
      out += '\xfe';
      out += static_cast<char>(payload.size() >> 8);
      out += static_cast<char>(payload.size() & 0xff);
    } else {
      out += '\xff';
      for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(payload.size() >> shift & 0xff);
    }
    return out + std::string(4, '\0') + std::string(payload);
  }

  void send(int first_byte, std::string_view payload) { socket_.send(frame(first_byte, payload)); }
  bool send_raw(std::string_view bytes) { return socket_.send(bytes); }

  // The next frame; opcode -1 at the end of the connection.
  Frame receive() {
    if (!fill(2)) return {.opcode = -1};
    const auto byte = [this](size_t i) { return static_cast<unsigned char>(buffer_[i]); };
    Frame frame{.opcode = byte(0) & 15, .final = (byte(0) & 0x80) != 0};
    size_t length = byte(1);
    size_t head = 2;
    if (length >= 126) {
      const size_t extra = length == 126 ? 2 : 8;
      if (!fill(2 + extra)) return {.opcode = -1};
      length = 0;
      for (size_t i = 0; i < extra; ++i) length = length << 8 | byte(2 + i);
      head += extra;
    }
    if (!fill(head + length)) return {.opcode = -1};
    frame.payload = buffer_.substr(head, length);
    buffer_.erase(0, head + length);
    return frame;
  }

 private:
  bool fill(size_t bytes) {
    while (buffer_.size() < bytes) {
      const std::string more = socket_.read_some();
      if (more.empty()) return false;
      buffer_ += more;
    }
    return true;
  }

  RawSocket socket_;
  std::string buffer_;
};

// Some leave at once, some wait for the end of the loop's turn, and all of them are more than a socket takes.
constexpr size_t kPartSizes[] = {10, 40'000, 0, 3'000'000, 20, 40'000, 2'000'000};

struct Seen {
  std::vector<std::string> messages;
  std::optional<Error> end;
  int ended = 0;
  std::string send_error;
};

class WebSocketTest : public testing::HttpFixture {
 protected:
  void serve(WebSocketOptions options = {}, HttpServerOptions server = {}) {
    options_ = options;
    start([this](std::shared_ptr<Exchange> exchange) { return echo(options_, seen_, std::move(exchange)); },
          std::move(server));
  }

  // Sends every message back, in its kind. "bye" closes, "flood" sends until the client is too slow, "parts" sends small and large texts
  // in parts.
  static Task<> echo(WebSocketOptions options, Seen& seen, std::shared_ptr<Exchange> exchange) {
    Result<std::unique_ptr<WebSocket>> socket = co_await exchange->upgrade(options);
    if (!socket) {
      exchange->reply({.status = 400, .body = socket.error().message});
      co_return;
    }
    exchange.reset();
    while (true) {
      Result<std::optional<Message>> message = co_await (*socket)->receive({});
      if (!message || !*message) {
        if (!message) seen.end = message.error();
        ++seen.ended;
        co_return;
      }
      const std::string& data = (*message)->data;
      seen.messages.push_back(data);
      if (data == "bye") {
        EXPECT_TRUE((*socket)->send_text("going"));
        (*socket)->close(4001, "as asked");
      } else if (data == "flood") {
        Result<> sent;
        while ((sent = (*socket)->send_binary(std::string(10'000, 'x'))))
          EXPECT_LE((*socket)->pending(), 200'000u);
        seen.send_error = sent.error().message;
        co_return;
      } else if (data == "parts") {
        for (const size_t size : kPartSizes)
          EXPECT_TRUE((*socket)->send_text_parts({"<", std::string(size, 'x'), ">"}));
        // Half a character each: the whole would be text, its parts are none.
        const Result<> halves = (*socket)->send_text_parts({"\xc3", "\xa4"});
        EXPECT_TRUE(!halves && halves.error().code == Code::kInvalidArgument);
      } else if ((*message)->kind == MessageKind::kText) {
        EXPECT_TRUE((*socket)->send_text(data));
      } else {
        EXPECT_TRUE((*socket)->send_binary(data));
      }
    }
  }

  WebSocketOptions options_;
  Seen seen_;
};

TEST_F(WebSocketTest, EchoesFramesOfEverySizeAndFragments) {
  serve({.protocol = "chela"});
  const auto [head, frames] = client([port = port_] {
    Client c(port);
    std::vector<Frame> got;
    std::string reply = c.handshake(Client::frame(0x81, "early"));
    got.push_back(c.receive());
    for (const size_t size : {0u, 125u, 126u, 65535u, 65536u, 200'000u}) {
      c.send(0x82, std::string(size, 'x'));
      got.push_back(c.receive());
    }
    c.send(0x01, "frag");
    c.send(0x89, "ping between");
    c.send(0x00, "men");
    c.send(0x80, "ted");
    got.push_back(c.receive());
    got.push_back(c.receive());
    return std::pair(reply, got);
  });
  EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
  EXPECT_NE(head.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos) << head;
  EXPECT_NE(head.find("Sec-WebSocket-Protocol: chela"), std::string::npos) << head;
  ASSERT_EQ(frames.size(), 9u);
  EXPECT_EQ(frames[0].payload, "early");
  EXPECT_EQ(frames[0].opcode, 1);
  const size_t sizes[] = {0, 125, 126, 65535, 65536, 200'000};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(frames[i + 1].payload.size(), sizes[i]);
    EXPECT_EQ(frames[i + 1].opcode, 2);
    EXPECT_TRUE(frames[i + 1].final);
  }
  EXPECT_EQ(frames[7].opcode, 10);
  EXPECT_EQ(frames[7].payload, "ping between");
  EXPECT_EQ(frames[8].payload, "fragmented");
}

TEST_F(WebSocketTest, TextsInPartsComeWholeAndInOrder) {
  serve({}, {.max_write_buffer = 10'000'000});
  const auto frames = client([port = port_] {
    Client c(port);
    c.handshake();
    c.send(0x81, "parts");
    std::vector<Frame> got;
    for (size_t i = 0; i < std::size(kPartSizes); ++i) got.push_back(c.receive());
    return got;
  });
  ASSERT_EQ(frames.size(), std::size(kPartSizes));
  for (size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].opcode, 1);
    EXPECT_TRUE(frames[i].payload == "<" + std::string(kPartSizes[i], 'x') + ">") << i;
  }
}

TEST_F(WebSocketTest, BothSidesMayClose) {
  serve();
  const auto frames = client([port = port_] {
    std::vector<Frame> got;
    Client c(port);
    c.handshake();
    c.send(0x88, "\x03\xe8");
    got.push_back(c.receive());
    got.push_back(c.receive());
    Client d(port);
    d.handshake();
    d.send(0x81, "bye");
    got.push_back(d.receive());
    got.push_back(d.receive());
    d.send(0x88, got.back().payload);
    got.push_back(d.receive());
    return got;
  });
  EXPECT_EQ(frames[0].opcode, 8);
  EXPECT_EQ(frames[1].opcode, -1);
  EXPECT_EQ(frames[2].payload, "going");
  EXPECT_EQ(frames[3].opcode, 8);
  EXPECT_EQ(frames[3].payload,
            "\x0f\xa1"
            "as asked");
  EXPECT_EQ(frames[4].opcode, -1);
  loop_.run_until([this] { return seen_.ended == 2 && server_->connections() == 0; });
  EXPECT_FALSE(seen_.end);
}

TEST_F(WebSocketTest, BreachesAndLimitsCloseWithTheirCodes) {
  serve({.max_message_bytes = 1000});
  struct Case {
    std::string bytes;
    std::string close_code;
    Code error;
  };
  const std::vector<Case> cases{
      {Client::frame(0x81, std::string(1001, 'x')), "\x03\xf1", Code::kTooLarge},
      {Client::frame(0x01, std::string(900, 'x')) + Client::frame(0x80, std::string(900, 'x')), "\x03\xf1",
       Code::kTooLarge},
      {Client::frame(0x81, "\xff\xff"), "\x03\xef", Code::kUpstream},
      {"\x81\x01x", "\x03\xea", Code::kUpstream},               // not masked
      {Client::frame(0x83, "x"), "\x03\xea", Code::kUpstream},  // reserved opcode
      {Client::frame(0x80, "x"), "\x03\xea", Code::kUpstream},  // continues nothing
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    seen_ = {};
    const auto [frame, after] = client([port = port_, bytes = cases[i].bytes] {
      Client c(port);
      c.handshake();
      c.send_raw(bytes);
      const Frame first = c.receive();
      return std::pair(first, c.receive());
    });
    EXPECT_EQ(frame.opcode, 8) << i;
    EXPECT_EQ(frame.payload.substr(0, 2), cases[i].close_code) << i;
    EXPECT_EQ(after.opcode, -1) << i;
    loop_.run_until([this] { return seen_.ended == 1 && server_->connections() == 0; });
    ASSERT_TRUE(seen_.end) << i;
    EXPECT_EQ(seen_.end->code, cases[i].error) << i;
  }
}

// A client whose send fails may look no further and never learn why.
TEST_F(WebSocketTest, ARefusedMessageMaySendItsRest) {
  serve({.max_message_bytes = 1000});
  const auto sends_its_rest = [port = port_](size_t rest) {
    Client c(port);
    c.handshake();
    c.send_raw(Client::frame(0x81, std::string(kMaxLingerBytes, 'x')).substr(0, 2000));
    const Frame frame = c.receive();
    EXPECT_EQ(frame.opcode, 8);
    EXPECT_EQ(frame.payload.substr(0, 2), "\x03\xf1");
    const std::string block(10'000, 'x');
    bool sent = true;
    for (size_t bytes = 0; sent && bytes < rest; bytes += block.size()) sent = c.send_raw(block);
    return sent;
  };
  EXPECT_TRUE(client([sends_its_rest] { return sends_its_rest(kMaxLingerBytes - 20'000); }));
  EXPECT_FALSE(client([sends_its_rest] { return sends_its_rest(100 * kMaxLingerBytes); }));
  loop_.run_until([this] { return server_->connections() == 0; });
}

TEST_F(WebSocketTest, PingsAndCutsASilentPeer) {
  serve({.ping_interval = 20ms});
  const auto frames = client([port = port_] {
    Client c(port);
    c.handshake();
    std::vector<int> opcodes;
    do {
      opcodes.push_back(c.receive().opcode);
    } while (opcodes.back() != -1);
    return opcodes;
  });
  ASSERT_GE(frames.size(), 2u);
  EXPECT_EQ(frames.front(), 9);
  loop_.run_until([this] { return seen_.ended == 1; });
  ASSERT_TRUE(seen_.end);
  EXPECT_EQ(seen_.end->code, Code::kTimeout);
}

TEST_F(WebSocketTest, ACutIsAnError) {
  serve();
  client([port = port_] {
    Client c(port);
    c.handshake();
    c.send_raw(std::string_view("\x81\x85", 2));
    return 0;
  });
  loop_.run_until([this] { return seen_.ended == 1 && server_->connections() == 0; });
  ASSERT_TRUE(seen_.end);
  EXPECT_EQ(seen_.end->code, Code::kUpstream);
}

TEST_F(WebSocketTest, ASlowReaderIsToldToTheSenderAndCut) {
  serve({}, {.max_write_buffer = 200'000});
  client([port = port_] {
    Client c(port);
    c.handshake();
    c.send(0x81, "flood");
    while (c.receive().opcode != -1) {
    }
    return 0;
  });
  EXPECT_NE(seen_.send_error.find("too slowly"), std::string::npos) << seen_.send_error;
}

TEST_F(WebSocketTest, TheServersStopIsGoingAway) {
  serve();
  runtime::TaskGroup group(loop_);
  struct Stop {
    static Task<> when_open(runtime::EventLoop& loop, HttpServer& server, Seen& seen) {
      while (seen.messages.empty()) co_await runtime::yield(loop);
      co_await server.stop(10s);
    }
  };
  group.spawn(Stop::when_open(loop_, *server_, seen_));
  const auto frames = client([port = port_] {
    Client c(port);
    c.handshake();
    c.send(0x81, "hello");
    std::vector<Frame> got{c.receive(), c.receive()};
    c.send(0x88, got[1].payload);
    got.push_back(c.receive());
    return got;
  });
  runtime::block_on(loop_, group.join());
  EXPECT_EQ(frames[1].opcode, 8);
  EXPECT_EQ(frames[1].payload.substr(0, 2), "\x03\xe9");
  EXPECT_EQ(frames[2].opcode, -1);
  EXPECT_EQ(seen_.ended, 1);
}

TEST_F(WebSocketTest, WhatIsNoHandshakeIsAnsweredByTheHandler) {
  serve();
  const std::string plain = exchange("GET /ws HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(plain.starts_with("HTTP/1.1 400 ")) << plain;
  const std::string old = exchange(
      "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade, "
      "close\r\nSec-WebSocket-Version: 8\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  EXPECT_NE(old.find("version must be 13"), std::string::npos) << old;
}

TEST_F(WebSocketTest, ACancelledReceiveLosesNothing) {
  struct Cancel {
    static Task<> run(runtime::EventLoop& loop, std::vector<std::string>& got,
                      std::shared_ptr<Exchange> exchange) {
      Result<std::unique_ptr<WebSocket>> socket = co_await exchange->upgrade();
      std::stop_source stop;
      loop.post([stop]() mutable { stop.request_stop(); });
      const Result<std::optional<Message>> cancelled = co_await (*socket)->receive(stop.get_token());
      got.push_back(cancelled ? "a message" : std::string(code_name(cancelled.error().code)));
      EXPECT_TRUE((*socket)->send_text("go"));
      const Result<std::optional<Message>> message = co_await (*socket)->receive({});
      got.push_back(message && *message ? (*message)->data : "nothing");
    }
  };
  std::vector<std::string> got;
  start([this, &got](std::shared_ptr<Exchange> exchange) {
    return Cancel::run(loop_, got, std::move(exchange));
  });
  client([port = port_] {
    Client c(port);
    c.handshake();
    c.receive();
    c.send(0x81, "kept");
    return c.receive().opcode;
  });
  EXPECT_EQ(got, (std::vector<std::string>{"cancelled", "kept"}));
}

// Far more than is read ahead, sent before anybody receives: reading pauses and goes on, and nothing is lost or turned round.
TEST_F(WebSocketTest, WhatWaitsForAReceiverIsBoundedAndInOrder) {
  constexpr size_t kMessages = 3000;
  constexpr size_t kBytes = 1000;
  struct Late {
    static Task<> run(size_t& in_order, std::shared_ptr<Exchange> exchange) {
      Result<std::unique_ptr<WebSocket>> socket = co_await exchange->upgrade();
      EXPECT_TRUE((*socket)->send_text("go"));
      for (size_t i = 0; i < kMessages; ++i) {
        const Result<std::optional<Message>> message = co_await (*socket)->receive({});
        if (!message || !*message || !(*message)->data.starts_with(std::to_string(i) + ":")) co_return;
        ++in_order;
      }
      EXPECT_TRUE((*socket)->send_text("thanks"));
      const Result<std::optional<Message>> end = co_await (*socket)->receive({});
      EXPECT_FALSE(end && *end);
    }
  };
  size_t in_order = 0;
  start([&in_order](std::shared_ptr<Exchange> exchange) { return Late::run(in_order, std::move(exchange)); });
  const std::string last = client([port = port_] {
    Client c(port);
    c.handshake();
    c.receive();
    for (size_t i = 0; i < kMessages; ++i) c.send(0x82, std::to_string(i) + ":" + std::string(kBytes, 'x'));
    return c.receive().payload;
  });
  EXPECT_EQ(last, "thanks");
  EXPECT_EQ(in_order, kMessages);
}

TEST(WebSocketOptions, BeginWithTheLimits) {
  const WebSocketOptions options;
  EXPECT_EQ(options.max_message_bytes, kMaxWebSocketMessageBytes);
  EXPECT_EQ(options.ping_interval, kWebSocketPingInterval);
}

}  // namespace
}  // namespace chela::net
