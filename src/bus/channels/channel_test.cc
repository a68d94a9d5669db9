#include "bus/channels/channel.h"

#include <gtest/gtest.h>

#include "bus/channels/limits.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::bus::channels {
namespace {

net::Message payload(std::string data) {
  return {.kind = net::MessageKind::kBinary, .data = std::move(data)};
}

class ChannelTest : public ::testing::Test {
 protected:
  ~ChannelTest() override { runtime::block_on(loop, tasks.join()); }

  static Task<> write_into(Channel& to, net::Message message, std::stop_token stop, std::string& outcome) {
    const Result<> done = co_await to.write(std::move(message), std::move(stop));
    outcome = done ? "written" : std::string(code_name(done.error().code));
  }
  static Task<> read_into(Channel& from, std::stop_token stop, std::string& outcome) {
    const Result<std::optional<net::Message>> got = co_await from.read(std::move(stop));
    outcome = !got ? std::string(code_name(got.error().code)) : *got ? (*got)->data : "end";
  }

  // "" while it waits.
  std::string& write(std::string data, std::stop_token stop = {}) {
    std::string& outcome = outcomes.emplace_back();
    tasks.spawn(write_into(channel, payload(std::move(data)), std::move(stop), outcome));
    loop.run_ready();
    return outcome;
  }
  std::string& read(std::stop_token stop = {}) {
    std::string& outcome = outcomes.emplace_back();
    tasks.spawn(read_into(channel, std::move(stop), outcome));
    loop.run_ready();
    return outcome;
  }

  testing::ManualLoop loop;
  runtime::TaskGroup tasks{loop};
  Channel channel{loop, "c", {"r", "w"}, 3};
  std::deque<std::string> outcomes;
};

TEST_F(ChannelTest, WhatWasWrittenWaitsForAReaderThatIsLateAndComesInOrder) {
  EXPECT_EQ(write("a"), "written");
  EXPECT_EQ(write("b"), "written");
  channel.finish();
  EXPECT_FALSE(channel.over().stop_requested());
  EXPECT_EQ(read(), "a");
  EXPECT_EQ(read(), "b");
  EXPECT_EQ(read(), "end");
  EXPECT_TRUE(channel.over().stop_requested());
}

TEST_F(ChannelTest, AReaderWaitsForTheWriter) {
  std::string& got = read();
  EXPECT_EQ(got, "");
  write("late");
  EXPECT_EQ(got, "late");
  std::string& end = read();
  channel.finish();
  loop.run_ready();
  EXPECT_EQ(end, "end");
}

TEST_F(ChannelTest, AFullChannelHoldsItsWriterBack) {
  for (const char* each : {"1", "2", "3"}) EXPECT_EQ(write(each), "written");
  std::string& fourth = write("4");
  EXPECT_EQ(fourth, "");
  EXPECT_EQ(read(), "1");
  EXPECT_EQ(fourth, "written");
}

TEST_F(ChannelTest, BytesFillAChannelAsMessagesDo) {
  const std::string half(kMaxBufferedBytes / 2, 'x');
  EXPECT_EQ(write(half), "written");
  EXPECT_EQ(write(half), "written");
  std::string& third = write("x");
  EXPECT_EQ(third, "");
  EXPECT_EQ(channel.buffered_bytes(), kMaxBufferedBytes);
  read();
  EXPECT_EQ(third, "written");
}

TEST_F(ChannelTest, AnEmptyChannelTakesAMessageOfAnySize) {
  EXPECT_EQ(write(std::string(2 * kMaxBufferedBytes, 'x')), "written");
  EXPECT_EQ(read().size(), 2 * kMaxBufferedBytes);
}

TEST_F(ChannelTest, ClosingEndsBothAndDropsWhatWaits) {
  for (const char* each : {"1", "2", "3"}) write(each);
  std::string& fourth = write("4");
  channel.close({.code = Code::kUnavailable, .message = "gone"});
  loop.run_ready();
  EXPECT_EQ(fourth, "unavailable");
  EXPECT_EQ(read(), "unavailable");
  EXPECT_EQ(channel.buffered_bytes(), 0U);
  channel.close({.code = Code::kTimeout, .message = "again"});
  EXPECT_EQ(read(), "unavailable");
}

TEST_F(ChannelTest, AStopEndsTheWait) {
  std::stop_source stop;
  std::string& got = read(stop.get_token());
  stop.request_stop();
  loop.run_ready();
  EXPECT_EQ(got, "cancelled");
  for (const char* each : {"1", "2", "3"}) write(each);
  EXPECT_EQ(write("4", stop.get_token()), "cancelled");
}

TEST_F(ChannelTest, NothingIsWrittenAfterTheEnd) {
  channel.finish();
  EXPECT_EQ(write("x"), "unavailable");
}

TEST_F(ChannelTest, AnEndThatCameTooEarlyIsToldAfterWhatWasWritten) {
  write("x");
  channel.finish(Error{.code = Code::kTimeout, .message = "stalled"});
  channel.finish();
  EXPECT_EQ(read(), "x");
  EXPECT_FALSE(channel.over().stop_requested());
  EXPECT_EQ(read(), "timeout");
  EXPECT_TRUE(channel.over().stop_requested());
}

TEST_F(ChannelTest, EachEndIsTakenOnce) {
  EXPECT_TRUE(channel.take(End::kRead));
  EXPECT_FALSE(channel.take(End::kRead));
  EXPECT_TRUE(channel.take(End::kWrite));
  EXPECT_FALSE(channel.take(End::kWrite));
}

}  // namespace
}  // namespace chela::bus::channels
