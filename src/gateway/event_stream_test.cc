#include "gateway/event_stream.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::gateway {
namespace {

// A connection that keeps what is written to it, or refuses.
class FakeExchange final : public net::Exchange {
 public:
  net::HttpRequest asked;
  std::stop_source gone;
  std::string body;
  net::Headers headers;
  size_t unsent = 0;
  bool full = false, ended = false, aborted = false;
  int drains = 0;

  const net::HttpRequest& request() const override { return asked; }
  Task<Result<std::optional<std::string>>> read_body(std::stop_token) override { co_return std::nullopt; }
  std::stop_token client_gone() const override { return gone.get_token(); }
  void reply(net::HttpResponse) override {}
  Result<> begin_stream(int, net::Headers begun) override {
    headers = std::move(begun);
    return {};
  }
  Result<> write(std::string_view bytes) override {
    if (full) return fail(Code::kUnavailable, "full");
    body += bytes;
    return {};
  }
  void end_stream() override { ended = true; }
  size_t pending() const override { return unsent; }
  Task<Result<>> drained(size_t below, std::stop_token) override {
    ++drains;
    unsent = below;
    co_return Result<>{};
  }
  void abort() override { aborted = true; }
  Task<Result<std::unique_ptr<net::WebSocket>>> upgrade(net::WebSocketOptions) override {
    co_return fail(Code::kUnsupported, "no");
  }
};

class EventStreamTest : public ::testing::Test {
 protected:
  testing::ManualLoop loop_;
  std::shared_ptr<FakeExchange> exchange_ = std::make_shared<FakeExchange>();
  size_t open_ = 0;
  std::unique_ptr<EventStream> stream_ = std::make_unique<EventStream>(
      loop_, exchange_, [] { return net::Headers{{{"X-Mine", "1"}}}; }, open_, exchange_->client_gone());
};

TEST_F(EventStreamTest, WritesEventIdAndData) {
  ASSERT_TRUE(stream_->emit({.name = "status", .id = "4.1", .data = R"({"a":1})"}));
  EXPECT_EQ(exchange_->body, "event: status\nid: 4.1\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(exchange_->headers.value_or("Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(exchange_->headers.value_or("X-Accel-Buffering"), "no");
  EXPECT_EQ(exchange_->headers.value_or("X-Mine"), "1");
  EXPECT_EQ(open_, 1u);
  stream_.reset();
  EXPECT_EQ(open_, 0u);
}

TEST_F(EventStreamTest, SilenceIsBrokenByAComment) {
  ASSERT_TRUE(stream_->open());
  loop_.advance(kSseKeepAlive - 1ms);
  EXPECT_EQ(exchange_->body, "");
  loop_.advance(kSseKeepAlive + 1ms);
  EXPECT_EQ(exchange_->body, ": keep-alive\n\n: keep-alive\n\n");
  stream_.reset();
  loop_.advance(kSseKeepAlive);
  EXPECT_EQ(exchange_->body.size(), 28u);
}

TEST_F(EventStreamTest, ASlowClientIsCutOff) {
  ASSERT_TRUE(stream_->open());
  exchange_->full = true;
  EXPECT_EQ(stream_->emit({.data = "x"}).error().code, Code::kTooLarge);
  EXPECT_TRUE(exchange_->aborted);
  exchange_->full = false;
  EXPECT_EQ(stream_->emit({.data = "x"}).error().code, Code::kUnavailable);
  stream_->finish(std::nullopt);
  EXPECT_FALSE(exchange_->ended);
}

TEST_F(EventStreamTest, WaitsForTheClientOnlyAboveTheHighWater) {
  ASSERT_TRUE(stream_->emit({.data = "x"}));
  ASSERT_TRUE(runtime::block_on(loop_, stream_->drained()));
  EXPECT_EQ(exchange_->drains, 0);
  exchange_->unsent = 1'000'000;
  ASSERT_TRUE(runtime::block_on(loop_, stream_->drained()));
  EXPECT_EQ(exchange_->drains, 1);
}

TEST_F(EventStreamTest, AnErrorIsTheLastEvent) {
  stream_->finish(op::Event{.data = "never opened"});
  EXPECT_EQ(exchange_->body, "");
  ASSERT_TRUE(stream_->open());
  stream_->finish(op::Event{.data = "oh"});
  EXPECT_EQ(exchange_->body, "data: oh\n\n");
  EXPECT_TRUE(exchange_->ended);
}

}  // namespace
}  // namespace chela::gateway
