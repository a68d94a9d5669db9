#include "bus/queue/queue_module.h"

#include <gtest/gtest.h>

#include "bus/queue/limits.h"
#include "testing/manual_loop.h"
#include "testing/memory_records.h"

namespace chela::bus::queue {
namespace {

using namespace std::chrono_literals;

Result<ModuleSettings> settings(std::string_view text) { return read_settings(*json::parse(text)); }
std::string refusal(std::string_view text) {
  const Result<ModuleSettings> read = settings(text);
  return read ? "" : read.error().message;
}

TEST(QueueSettings, BothDialects) {
  const Result<ModuleSettings> plain = settings("{}");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->file_path);
  EXPECT_TRUE(plain->queues.named.contains("default"));
  const Result<ModuleSettings> march = settings(
      R"({"adapter":{"class":"modules::queue::BuiltinQueueAdapter","config":{"store_method":"file_based",
          "file_path":"data/queue","save_interval_ms":100,"max_attempts":5,"backoff_ms":10,"concurrency":2,
          "poll_interval_ms":50,"mode":"fifo"}}})");
  ASSERT_TRUE(march) << march.error().message;
  EXPECT_EQ(march->file_path, "data/queue");
  EXPECT_EQ(march->queues.topics.max_attempts, 5);
  EXPECT_EQ(march->queues.topics.backoff, 10ms);
  EXPECT_EQ(march->queues.topics.concurrency, 2);
  EXPECT_EQ(march->queues.topics.order, Policy::Order::kFifo);
  const Result<ModuleSettings> later = settings(
      R"({"adapter":{"name":"builtin"},"queue_configs":{"default":{"concurrency":3},
          "payment":{"type":"fifo","message_group_field":"transaction_id"}}})");
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->queues.named.at("default").concurrency, 3);
  EXPECT_EQ(later->queues.named.at("payment").group_field, "transaction_id");
}

TEST(QueueSettings, SaysWhatIsWrong) {
  EXPECT_NE(refusal(R"({"queue_config":{}})").find("unknown key 'queue_config'"), std::string::npos);
  EXPECT_NE(refusal(R"({"adapter":{"class":"modules::queue::RabbitMQAdapter"}})").find("is not supported"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"adapter":{"config":{"store":"x"}}})").find("unknown key 'store'"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"queue_configs":[]})").find("must be a mapping"), std::string::npos);
  EXPECT_NE(refusal(R"({"queue_configs":{"a":{"concurrency":0}}})").find("queue_configs: a: concurrency"),
            std::string::npos);
  EXPECT_NE(refusal(fmt::format(R"({{"queue_configs":{{"{}":{{}}}}}})", std::string(kMaxNameBytes + 1, 'q')))
                .find("256 bytes"),
            std::string::npos);
}

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() { journal.use(std::move(*runtime::block_on(loop, records.opener()("j")))); }
  static store::RecordChange put(std::string key, std::string value) {
    return {.space = "s", .key = std::move(key), .value = std::move(value)};
  }
  std::string value(const std::string& key) {
    const auto found = records.rows("j").find({.space = "s", .key = key});
    return found == records.rows("j").end() ? "" : found->second;
  }

  static Task<> commit(Journal& into, std::vector<store::RecordChange> changes, int& count) {
    if (co_await into.commit(std::move(changes))) ++count;
  }

  testing::ManualLoop loop;
  testing::MemoryRecords records{loop};
  Journal journal{loop};
};

TEST_F(JournalTest, WhatIsCommittedTakesThePlaceOfWhatWasToComeLater) {
  journal.later(put("a", "old"));
  journal.later(put("b", "1"));
  journal.later(put("b", "2"));
  EXPECT_EQ(journal.lazy(), 2);
  EXPECT_TRUE(runtime::block_on(loop, journal.commit({put("a", "new")})));
  EXPECT_EQ(value("a"), "new");
  EXPECT_EQ(value("b"), "2");
  EXPECT_EQ(records.commits, 1);
  runtime::block_on(loop, journal.close());
}

TEST_F(JournalTest, ClosingWritesWhatIsLeft) {
  journal.later(put("a", "1"));
  runtime::block_on(loop, journal.close());
  EXPECT_EQ(value("a"), "1");
  EXPECT_FALSE(runtime::block_on(loop, journal.commit({put("b", "1")})));
}

TEST_F(JournalTest, WhoComesBackWithHisReceiptSharesTheNextCommit) {
  runtime::TaskGroup group(loop);
  int done = 0;
  const auto send = [&](std::string key) { group.spawn(commit(journal, {put(std::move(key), "x")}, done)); };
  const auto two_at_once = [&] {
    records.hold();
    send("a");
    send("b");
    loop.run_ready();
    loop.advance(kGatherShare * 2ms);
    records.release();
    loop.run_ready();
  };
  two_at_once();
  EXPECT_EQ(done, 2);
  EXPECT_EQ(records.commits, 1);
  send("c");
  loop.run_ready();
  EXPECT_EQ(done, 2);  // it waits for a second one
  send("d");
  loop.run_ready();
  EXPECT_EQ(done, 4);
  EXPECT_EQ(records.commits, 2);

  two_at_once();
  send("e");
  loop.advance(1ms);
  EXPECT_EQ(done, 6);
  loop.advance(1ms);  // nobody comes
  EXPECT_EQ(done, 7);
  EXPECT_EQ(records.commits, 4);
  runtime::block_on(loop, journal.close());
}

TEST_F(JournalTest, NoMoreAreWaitedForThanTheLimit) {
  runtime::TaskGroup group(loop);
  int done = 0;
  const auto send = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) group.spawn(commit(journal, {put(fmt::format("{}", i), "x")}, done));
    loop.run_ready();
  };
  records.hold();
  send(kMaxGathered + 10);
  loop.advance(kGatherShare * 2ms);
  records.release();
  loop.run_ready();
  EXPECT_EQ(records.commits, 1);
  send(kMaxGathered - 1);
  EXPECT_EQ(records.commits, 1);
  send(1);
  EXPECT_EQ(records.commits, 2);
  runtime::block_on(loop, journal.close());
}

TEST_F(JournalTest, OneCommitIsLimited) {
  std::vector<store::RecordChange> many;
  for (size_t i = 0; i < kMaxCommitChanges; ++i) many.push_back(put(fmt::format("{}", i), "x"));
  runtime::TaskGroup group(loop);
  records.hold();
  int done = 0;
  // Any two of them are too many for one.
  group.spawn(commit(journal, {put("first", "x")}, done));
  group.spawn(commit(journal, many, done));
  group.spawn(commit(journal, {put("last", "x")}, done));
  for (int i = 0; i < 3; ++i) {
    records.release();
    records.hold();
    loop.run_ready();
  }
  records.release();
  runtime::block_on(loop, group.join());
  EXPECT_EQ(done, 3);
  EXPECT_EQ(records.commits, 3);
  runtime::block_on(loop, journal.close());
}

}  // namespace
}  // namespace chela::bus::queue
