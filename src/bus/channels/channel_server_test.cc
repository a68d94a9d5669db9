#include "bus/channels/channel_server.h"

#include "bus/bus_fixture.h"
#include "bus/channels/limits.h"

namespace chela::bus::channels {
namespace {

// A peer's socket that takes and reads only what a test lets it.
struct Wire {
  explicit Wire(runtime::EventLoop& l) : loop(l) {}
  runtime::EventLoop& loop;
  net::WebSocketOptions options;
  std::vector<std::string> sent;  // by the engine
  size_t unread = 0;
  std::deque<net::Message> coming;
  int closed = 0;
  std::optional<runtime::Completion<bool>> heard, read;

  void say(std::string data) {
    coming.push_back({.kind = net::MessageKind::kBinary, .data = std::move(data)});
    if (heard) heard->resolve(true);
  }
  void read_all() {
    unread = 0;
    if (read) read->resolve(true);
  }
};

class FakeSocket final : public net::WebSocket {
 public:
  explicit FakeSocket(Wire& wire) : wire_(wire) {}
  Result<> send_text(std::string_view text) override { return send_binary(text); }
  Result<> send_binary(std::string_view bytes) override {
    wire_.sent.emplace_back(bytes);
    wire_.unread += bytes.size();
    return {};
  }
  Task<Result<std::optional<net::Message>>> receive(std::stop_token stop) override {
    if (wire_.coming.empty()) {
      wire_.heard.emplace(wire_.loop);
      const runtime::Completion<bool> woken = *wire_.heard;
      const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
      if (!co_await woken) co_return fail(Code::kCancelled, "cancelled");
    }
    net::Message message = std::move(wire_.coming.front());
    wire_.coming.pop_front();
    co_return message;
  }
  void close(std::uint16_t code, std::string_view) override { wire_.closed = code; }
  size_t pending() const override { return wire_.unread; }
  Task<Result<>> drained(size_t below, std::stop_token stop) override {
    while (wire_.unread > below) {
      wire_.read.emplace(wire_.loop);
      const runtime::Completion<bool> woken = *wire_.read;
      const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
      if (!co_await woken) co_return fail(Code::kCancelled, "cancelled");
    }
    co_return Result<>{};
  }

 private:
  Wire& wire_;
};

class FakeExchange final : public net::Exchange {
 public:
  FakeExchange(Wire& wire, std::string target) : wire_(wire) {
    const size_t question = target.find('?');
    request_.path = target.substr(0, question);
    if (question != std::string::npos) request_.query = target.substr(question + 1);
  }
  const net::HttpRequest& request() const override { return request_; }
  Task<Result<std::optional<std::string>>> read_body(std::stop_token) override { co_return std::nullopt; }
  std::stop_token client_gone() const override { return {}; }
  void reply(net::HttpResponse response) override { wire_.closed = response.status; }
  Result<> begin_stream(int, net::Headers) override { return fail(Code::kConflict, "no stream"); }
  Result<> write(std::string_view) override { return fail(Code::kConflict, "no stream"); }
  void end_stream() override {}
  size_t pending() const override { return 0; }
  Task<Result<>> drained(size_t, std::stop_token) override { co_return Result<>{}; }
  void abort() override {}
  Task<Result<std::unique_ptr<net::WebSocket>>> upgrade(net::WebSocketOptions options) override {
    wire_.options = std::move(options);
    co_return std::make_unique<FakeSocket>(wire_);
  }

 private:
  Wire& wire_;
  net::HttpRequest request_;
};

class ChannelServerTest : public BusTest {
 protected:
  ChannelServerTest() {
    EXPECT_TRUE(channels.add_to(*bus));
    Peer& owner = join();
    owner.call("engine::channels::create", json::Value::object({{"buffer_size", 1000}}));
    const json::Value answer = owner.answer();
    ref = *answer.find("result")->find("reader");
    channel = channels.find(ref.string_or("channel_id"), ref.string_or("access_key"), End::kRead);
    write_key = answer.find("result")->find("writer")->string_or("access_key");
  }
  ~ChannelServerTest() override {
    channel->close({.code = Code::kCancelled, .message = "the test is over"});
    runtime::block_on(loop, tasks.join());
  }

  bool open(Wire& wire, std::string query) {
    std::optional<Task<>> served = server.serve(std::make_shared<FakeExchange>(
        wire, fmt::format("/ws/channels/{}?{}", ref.string_or("channel_id"), query)));
    if (!served) return false;
    tasks.spawn(std::move(*served));
    loop.run_ready();
    return true;
  }
  std::string reading() const { return fmt::format("key={}&dir=read", ref.string_or("access_key")); }
  std::string writing() const { return fmt::format("key={}&dir=write", write_key); }

  Channels channels{loop, ids, metrics};
  ChannelServer server{loop, channels};
  json::Value ref;
  std::string write_key;
  ChannelPtr channel;
  runtime::TaskGroup tasks{loop};
  Wire reader{loop}, writer{loop};
};

TEST_F(ChannelServerTest, AReaderThatDoesNotReadHoldsTheChannelBack) {
  ASSERT_TRUE(open(reader, reading()));
  ASSERT_TRUE(open(writer, writing()));
  EXPECT_EQ(reader.options.max_message_bytes, kMaxMessageBytes);
  EXPECT_EQ(reader.options.ping_interval, kPingInterval);
  const std::string message(kMaxUnreadBytes / 4, 'x');
  for (int i = 0; i < 7; ++i) writer.say(message);
  loop.run_ready();
  EXPECT_GT(reader.unread, kMaxUnreadBytes);
  EXPECT_LE(reader.unread, kMaxUnreadBytes + message.size());
  EXPECT_EQ(channel->buffered_bytes(), 2 * message.size());
  reader.read_all();
  loop.run_ready();
  EXPECT_EQ(reader.sent.size(), 7u);
  EXPECT_EQ(channel->buffered_bytes(), 0u);
}

TEST_F(ChannelServerTest, AnEndIsGivenOnce) {
  ASSERT_TRUE(open(reader, reading()));
  Wire second(loop);
  ASSERT_TRUE(open(second, reading()));
  EXPECT_EQ(second.closed, 1008);
  EXPECT_EQ(reader.closed, 0);
}

TEST_F(ChannelServerTest, WhoHasNoKeyGetsNothing) {
  for (const std::string& query : {std::string("key=wrong&dir=read"), std::string("dir=read"),
                                   "key=" + write_key + "&dir=read", std::string()}) {
    Wire stranger(loop);
    ASSERT_TRUE(open(stranger, query)) << query;
    EXPECT_EQ(stranger.closed, query.empty() ? 400 : 404) << query;
  }
  EXPECT_FALSE(server.serve(std::make_shared<FakeExchange>(reader, "/elsewhere")));
}

TEST_F(ChannelServerTest, OldSdksPutThePathBehindTheirToken) {
  std::optional<Task<>> served = server.serve(std::make_shared<FakeExchange>(
      reader, fmt::format("/?token=t/ws/channels/{}?{}", ref.string_or("channel_id"), reading())));
  ASSERT_TRUE(served);
  tasks.spawn(std::move(*served));
  loop.run_ready();
  EXPECT_TRUE(channel->taken(End::kRead));
}

}  // namespace
}  // namespace chela::bus::channels
