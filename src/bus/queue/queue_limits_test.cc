#include "bus/queue/queue_fixture.h"

namespace chela::bus::queue {
namespace {

using json::Value;

class QueueLimits : public QueueTest {
 protected:
  QueueLimits() { start(); }
};

TEST(QueueLimitsOfTheEngine, BeginWithTheLimits) {
  EXPECT_EQ(Limits{}.queues, kMaxQueues);
  EXPECT_EQ(Limits{}.queue_bytes, kMaxQueueBytes);
  EXPECT_EQ(Limits{}.total_bytes, kMaxTotalBytes);
  EXPECT_EQ(Limits{}.user_queues, kMaxUserQueues);
  EXPECT_EQ(Limits{}.user_bytes, kMaxUserBytes);
  static_assert(kMaxUserQueues < kMaxQueues && kMaxUserBytes < kMaxTotalBytes);
}

class QueueShares : public QueueTest {
 protected:
  QueueShares() {
    limits = {
        .queues = 10, .queue_bytes = 10'000, .total_bytes = 10'000, .user_queues = 3, .user_bytes = 3000};
    start();
  }
};

TEST_F(QueueShares, OneUserFillsHisOwnShareOnly) {
  Peer& ann = join({"bus:*"}, "ann");
  Peer& bob = join({"bus:*"}, "bob");
  ann.provide("work");
  enqueue(ann, "default", "work", std::string(1000, 'x'));
  EXPECT_NE(enqueue(ann, "single", "later", std::string(1500, 'x')).find("the queues of ann are full"),
            std::string::npos);
  EXPECT_FALSE(enqueue(bob, "default", "work", std::string(1000, 'x')).empty());
  EXPECT_EQ(enqueue(bob, "default", "work", std::string(100, 'x')).find("enqueue_error"), std::string::npos);
  EXPECT_EQ(drain(ann), '"' + std::string(1000, 'x') + '"');  // and there is room again
  EXPECT_EQ(enqueue(ann, "single", "later", std::string(1500, 'x')).find("enqueue_error"), std::string::npos);
  crash();  // what was there counts after a restart too
  Peer& again = join({"bus:*"}, "ann");
  EXPECT_NE(enqueue(again, "default", "work", std::string(1000, 'x')).find("the queues of ann are full"),
            std::string::npos);
}

TEST_F(QueueShares, OneUserHasOnlySoManyQueues) {
  Peer& ann = join({"bus:*"}, "ann");
  Peer& bob = join({"bus:*"}, "bob");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(publish(ann, fmt::format("t{}", i), 1), "");
  EXPECT_NE(publish(ann, "t3", 1).find("ann has 3 queues, which is the limit"), std::string::npos);
  EXPECT_EQ(publish(bob, "t3", 1), "");
  subscribe(ann, "s", "t0", "work");  // would be one more
  EXPECT_NE(json::write(ann.next("triggerregistrationresult")).find("which is the limit"), std::string::npos);
  subscribe(bob, "s", "t3", "work");
  bob.provide("work");
  EXPECT_EQ(drain(bob), "1");
}

TEST_F(QueueLimits, LargeMessagesAreNotStartedAllAtOnce) {
  static_assert(kMaxRunningBytes + kMaxFrameBytes < kMaxUnsentBytes);
  Peer& a = join();
  a.provide("work");
  for (int i = 0; i < 5; ++i) enqueue(a, "default", "work", std::string(kMaxRunningBytes / 3, 'x'));
  const auto begin = [&] {
    while (!take(a).empty()) continue;
    return open.size();
  };
  EXPECT_EQ(begin(), 3);
  end(a, "no");  // waits for its time without holding up the others
  EXPECT_EQ(begin(), 3);
  loop.advance(1s);
  EXPECT_EQ(begin(), 3);
  for (int i = 0; i < 2; ++i) {
    end(a);
    EXPECT_EQ(begin(), 3);
  }
  for (int i = 0; i < 3; ++i) end(a);
  EXPECT_EQ(queues->messages(), 0);
}

TEST_F(QueueLimits, AllThatAMessageHoldsIsCounted) {
  Peer& a = join();
  const auto counted = [&](std::string_view key, std::string_view value) {
    const size_t before = queues->bytes();
    EXPECT_EQ(ask(a, "engine::queue::enqueue",
                  Value::object({{"queue", "pay"},
                                 {"function_id", "work"},
                                 {"data", Value::object({{"tx", key == "tx" ? value : "t"}})},
                                 {"messageReceiptId", "r"},
                                 {"traceparent", key == "traceparent" ? value : ""},
                                 {"baggage", key == "baggage" ? value : ""}}))
                  .string_or("messageReceiptId"),
              "r");
    return queues->bytes() - before;
  };
  const size_t plain = counted("", "");
  EXPECT_EQ(counted("traceparent", std::string(100, 'x')), plain + 100);
  EXPECT_EQ(counted("baggage", std::string(kMaxTraceBytes, 'x')), plain + kMaxTraceBytes);
  EXPECT_EQ(counted("baggage", std::string(kMaxTraceBytes + 1, 'x')), plain);  // dropped
  EXPECT_EQ(counted("tx", std::string(101, 'x')), plain + 300);  // in the data, and twice as the group
  a.provide("work");
  drain(a);
  EXPECT_EQ(queues->bytes(), 0);
}

TEST_F(QueueLimits, GroupsAreLimited) {
  Peer& a = join();
  const auto data = [](size_t bytes) { return Value::object({{"tx", std::string(bytes, 'x')}}); };
  EXPECT_EQ(enqueue(a, "pay", "work", data(kMaxGroupBytes - 2)).size(), 36);
  EXPECT_EQ(enqueue(a, "pay", "work", data(kMaxGroupBytes - 1)),
            "enqueue_error: FIFO queue 'pay': the field 'tx' has 1025 bytes; the limit is 1024");
}

TEST_F(QueueLimits, FullOnesRefuse) {
  limits = {
      .queues = 2, .messages = 3, .queue_bytes = 3 * kMessageOverhead, .total_bytes = 4 * kMessageOverhead};
  crash();
  Peer& a = join();
  EXPECT_EQ(enqueue(a, "default", "work", std::string(400, 'x')).size(), 36);
  EXPECT_EQ(enqueue(a, "default", "work", std::string(400, 'x'))
                .find("enqueue_error: the queue 'default' is full: it holds"),
            0);
  EXPECT_EQ(enqueue(a, "single", "work", 1).size(), 36);
  EXPECT_EQ(enqueue(a, "single", "work", std::string(400, 'x')).find("enqueue_error: the queues are full"),
            0);
  EXPECT_EQ(enqueue(a, "urgent", "work", 1).find("enqueue_error: there are 2 queues"), 0);
  limits = {.messages = 3};
  crash();
  Peer& b = join();
  EXPECT_EQ(enqueue(b, "single", "work", 1).size(), 36);
  EXPECT_EQ(enqueue(b, "single", "work", 1).size(), 36);
  EXPECT_EQ(enqueue(b, "single", "work", 1), "enqueue_error: the queue 'single' is full: it has 3 messages");
  b.provide("work");
  drain(b);
  EXPECT_EQ(enqueue(b, "single", "work", 1).size(), 36);
}

TEST_F(QueueLimits, UnusedQueuesMakeRoom) {
  limits = {.queues = 1};
  crash();
  Peer& a = join();
  a.provide("work");
  enqueue(a, "default", "work", 1);
  EXPECT_EQ(drain(a), "1");
  EXPECT_EQ(enqueue(a, "single", "work", 2).size(), 36);
  EXPECT_EQ(drain(a), "2");
}

TEST_F(QueueLimits, WhatIsTooLargeForARecordIsRefusedAndFailsNobodyElse) {
  Peer& a = join();
  EnqueueRequest large{
      .queue = "default", .function_id = "work", .data = std::string(store::kMaxRecordBytes, 'x')};
  records.hold();
  enqueue(a, "default", "work", 1);
  enqueue(a, "default", "work", 2);
  const Result<std::string> receipt =
      runtime::block_on(loop, queues->enqueue({.realm = "default", .user = "ann"}, std::move(large), ""));
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().code, Code::kTooLarge);
  records.release();
  EXPECT_EQ(said(a.answer()).size(), 36);
  EXPECT_EQ(said(a.answer()).size(), 36);
  const Result<> published =
      runtime::block_on(loop, queues->publish({.realm = "default", .user = "ann"}, "news",
                                              std::string(store::kMaxRecordBytes, 'x'), "", ""));
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, Code::kTooLarge);
  a.provide("work");
  EXPECT_EQ(drain(a), "1 2");
  EXPECT_EQ(queues->bytes(), 0);
}

TEST_F(QueueLimits, MoreDeadComeBackThanACommitHasChanges) {
  const QueueId id{.realm = "default", .user = "ann", .name = "default"};
  Message message{.id = "m",
                  .function_id = "work",
                  .sender = std::make_shared<op::Principal>(),
                  .data = Payload::of_text("1"),
                  .attempts = 2,
                  .died_at = 1};
  const auto many = static_cast<std::int64_t>(store::kMaxRecordChanges + 1);
  for (std::int64_t i = 1; i <= many; ++i) {
    message.seq = static_cast<Seq>(i);
    put(put_message(id, message));
    put(put_attempts(message));
  }
  crash();
  Peer& a = join();
  const int before = records.commits;
  EXPECT_EQ(ask(a, "iii::queue::redrive", Value::object({{"queue", "default"}})).int_or("redriven", 0), many);
  EXPECT_EQ(records.commits - before, many / static_cast<int>(kMaxDeadPerCommit) + 1);
  EXPECT_EQ(stored(kAttempts), 0);
  EXPECT_EQ(ask(a, "engine::queue::topic_stats", Value::object({{"queue", "default"}})).int_or("depth", 0),
            many);
}

TEST_F(QueueLimits, ALongLineLeavesTheLoopToOthersInBetween) {
  settings.named.at("default").concurrency = kMaxConcurrency;
  crash();
  Peer& a = join();
  for (size_t i = 0; i < 2 * kMaxStartsPerTurn; ++i) enqueue(a, "default", "work", 1);
  // Somebody else on the loop looks at each of its turns.
  a.link.got.clear();
  size_t seen = 0, most = 0;
  int turns = 0;
  std::function<void()> look = [&] {
    most = std::max(most, a.link.got.size() - seen);
    seen = a.link.got.size();
    if (++turns < 20) loop.post([&look] { look(); });
  };
  look();
  a.provide("work");
  EXPECT_EQ(seen, 2 * kMaxStartsPerTurn);
  EXPECT_EQ(most, kMaxStartsPerTurn);
  EXPECT_EQ(drain(a).size(), 2 * 2 * kMaxStartsPerTurn - 1);
}

TEST_F(QueueLimits, ManyCompletionsAskForACommitThemselves) {
  Peer& a = join();
  a.provide("work");
  std::vector<Value> batch;
  for (size_t i = 0; i < kMaxLazyChanges; ++i) enqueue(a, "default", "work", 1);
  records.hold();
  while (!take(a).empty()) end(a);
  EXPECT_EQ(records.commits, static_cast<int>(kMaxLazyChanges));
  records.release();
  loop.run_ready();
  EXPECT_EQ(stored(kMessages), 0);  // without a wait
}

}  // namespace
}  // namespace chela::bus::queue
