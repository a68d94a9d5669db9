#pragma once

#include <map>

#include "store/turn_log_fixture.h"

namespace chela::store {

// Records: their order, their numbers, who sees them.

TEST_P(TurnLogConformance, AppendGivesSeqPerThreadAndPosPerUser) {
  make_thread(ann_, "a");
  make_thread(ann_coder_, "b");
  make_thread(bob_, "c");
  const Result<Appended> first = run(log().append(request(ann_, "a", {"1", "2"})));
  ASSERT_TRUE(first) << first.error().text();
  ASSERT_EQ(first->records.size(), 2U);
  EXPECT_EQ(first->records[1].seq, 2);
  EXPECT_EQ(first->records[1].pos, 2);
  EXPECT_EQ(first->records[1].at, 100);
  EXPECT_EQ(first->records[1].body, "2");

  const Result<Appended> second = run(log().append(request(ann_, "b", {"3"})));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->records[0].seq, 1);
  EXPECT_EQ(second->records[0].pos, 3);  // the user's threads share the count, whatever their agent
  const Result<Appended> third = run(log().append(request(bob_, "c", {"4"})));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->records[0].pos, 1);

  EXPECT_EQ(run(log().last_pos(ann_)).value(), 3);
  EXPECT_EQ(run(log().last_pos(other_ann_)).value(), 0);
  EXPECT_EQ(run(log().thread(ann_, "a"))->last_seq, 2);
}

TEST_P(TurnLogConformance, ReadsArePagedAndOrdered) {
  make_thread(ann_, "a");
  make_thread(ann_, "b");
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(run(log().append(request(ann_, i % 2 == 0 ? "a" : "b", {std::to_string(i)}))));
  const Result<std::vector<LogRecord>> page = run(log().read_thread(ann_, "a", 1, 1));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->size(), 1U);
  EXPECT_EQ(page->front().seq, 2);
  EXPECT_EQ(page->front().body, "2");
  const Result<std::vector<LogRecord>> all = run(log().read_user(ann_, 1, 3));
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ((*all)[i].pos, static_cast<std::int64_t>(i) + 2);
  EXPECT_TRUE(run(log().read_thread(ann_, "a", 99, 10))->empty());
  EXPECT_EQ(run(log().read_thread(ann_, "a", 0, std::numeric_limits<std::size_t>::max()))->size(), 3U);
}

TEST_P(TurnLogConformance, ALogIsReadFromItsEnd) {
  make_thread(ann_, "a");
  make_thread(ann_, "b");
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(run(log().append(request(ann_, "a", {std::to_string(i)}))));
    ASSERT_TRUE(run(log().append(request(ann_, "b", {"other"}))));
  }
  const auto read = [&](std::int64_t before, std::size_t limit) {
    std::string found;
    const Result<std::vector<LogRecord>> page = run(log().read_thread_back(ann_, "a", before, limit));
    EXPECT_TRUE(page);
    if (page) {
      for (const LogRecord& record : *page) found += record.body;
    }
    return found;
  };
  EXPECT_EQ(read(std::numeric_limits<std::int64_t>::max(), 2), "54");
  EXPECT_EQ(read(4, 2), "32");
  EXPECT_EQ(read(2, 10), "1");
  EXPECT_EQ(read(1, 10), "");
  EXPECT_EQ(code_of(run(log().read_thread_back(bob_, "a", 4, 10))), Code::kNotFound);
}

TEST_P(TurnLogConformance, BodiesAreKeptToTheByte) {
  make_thread(ann_, "a");
  const std::string odd("\0'\";--\xf0\x9f\xa6\x80\n", 11);
  ASSERT_TRUE(run(log().append(request(ann_, "a", {odd, ""}))));
  EXPECT_EQ(bodies(ann_, "a"), (std::vector<std::string>{odd, ""}));
}

TEST_P(TurnLogConformance, UsageIsAddedUpByDayAndModel) {
  constexpr UnixMs kDay = 86'400'000;
  make_thread(ann_, "a");
  const auto use = [this](UnixMs at, std::vector<UsageAdd> usage) {
    AppendRequest append = request(ann_, "a", {"1"});
    append.at = at;
    append.usage = std::move(usage);
    ASSERT_TRUE(run(log().append(append)));
  };
  use(3 * kDay - 1, {{"m", 0, 5, 1, 0}});
  use(3 * kDay, {{"m", 0, 10, 2, 1}, {"m", 1, 0, 0, 0}, {"n", 1, 7, 0, 0}});
  use(4 * kDay - 1, {{"m", 1, 100, 20, 10}});
  const std::vector<UsageRow> rows = *run(log().usage(ann_, 3));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].day, 3);
  EXPECT_EQ(rows[0].sum.model, "m");
  EXPECT_EQ(rows[0].sum.turns, 2);
  EXPECT_EQ(rows[0].sum.prompt_tokens, 110);
  EXPECT_EQ(rows[0].sum.completion_tokens, 22);
  EXPECT_EQ(rows[0].sum.cached_tokens, 11);
  EXPECT_EQ(rows[1].sum.model, "n");
  EXPECT_EQ(run(log().usage(ann_, 0))->size(), 3U);
  EXPECT_TRUE(run(log().usage(bob_, 0))->empty());
  // With the record or not at all.
  AppendRequest refused = request(ann_, "nobody", {"1"});
  refused.usage = {{"m", 1, 1, 1, 1}};
  EXPECT_EQ(code_of(run(log().append(refused))), Code::kNotFound);
  EXPECT_EQ(run(log().usage(ann_, 3))->front().sum.turns, 2);
}

TEST_P(TurnLogConformance, OtherUsersSeeAndChangeNothing) {
  make_thread(ann_, "a", "chat-1");
  AppendRequest append = request(ann_, "a", {"secret"});
  append.outbox = reply(ann_, "o1");
  append.idempotency.emplace("k", "m1");
  ASSERT_TRUE(run(log().append(append)));
  for (const Scope& stranger : {bob_, other_ann_}) {
    EXPECT_EQ(code_of(run(log().thread(stranger, "a"))), Code::kNotFound);
    EXPECT_EQ(code_of(run(log().read_thread(stranger, "a", 0, 10))), Code::kNotFound);
    EXPECT_EQ(code_of(run(log().append(request(stranger, "a", {"mine"})))), Code::kNotFound);
    EXPECT_TRUE(run(log().read_user(stranger, 0, 10))->empty());
    EXPECT_TRUE(run(log().threads(stranger, {.limit = 10}))->empty());
    EXPECT_FALSE(*run(log().idempotent_message(stranger, "k", 100)));
    EXPECT_EQ(code_of(run(log().outbox_update(stranger, "o1", "delivered", 1, 100))), Code::kNotFound);
  }
  // The same words for what does not exist at all: no hint.
  const Result<ThreadRow> strange = run(log().thread(bob_, "a"));
  const Result<ThreadRow> missing = run(log().thread(bob_, "b"));
  EXPECT_EQ(strange.error().message.size(), missing.error().message.size());
  EXPECT_EQ(bodies(ann_, "a"), std::vector<std::string>{"secret"});
  EXPECT_EQ(run(log().last_pos(bob_)).value(), 0);
  EXPECT_EQ(run(log().outbox_pending(10))->front().state, "pending");
}

TEST_P(TurnLogConformance, ConcurrentAppendsLeaveNoGaps) {
  constexpr int kThreads = 7;
  constexpr int kAppends = 300;
  for (int t = 0; t < kThreads; ++t) make_thread(ann_, "t" + std::to_string(t));
  std::vector<Task<Result<Appended>>> tasks;
  for (int i = 0; i < kAppends; ++i) {
    const Durability durability = i % 3 == 0 ? Durability::kBarrier : Durability::kLazy;
    tasks.push_back(log().append(
        request(ann_, "t" + std::to_string(i % kThreads), {std::to_string(i), "x"}, durability)));
  }
  std::int64_t pos = 0;
  for (const Result<Appended>& appended : run_all(std::move(tasks))) {
    ASSERT_TRUE(appended) << appended.error().text();
    for (const LogRecord& record : appended->records)
      EXPECT_EQ(record.pos, ++pos);  // in the order of the calls
  }
  EXPECT_EQ(pos, 2 * kAppends);
  const Result<std::vector<LogRecord>> all = run(log().read_user(ann_, 0, 10'000));
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U * kAppends);
  std::map<std::string, std::int64_t> seq;
  pos = 0;
  for (const LogRecord& record : *all) {
    EXPECT_EQ(record.pos, ++pos);
    EXPECT_EQ(record.seq, ++seq[record.thread]);
  }
}

TEST_P(TurnLogConformance, ALazyRecordIsThereWhenALaterBarrierReturns) {
  make_thread(ann_, "a");
  Task<Result<Appended>> lazy = log().append(request(ann_, "a", {"lazy"}, Durability::kLazy));
  ASSERT_TRUE(run(log().append(request(ann_, "a", {"barrier"}))));
  EXPECT_EQ(bodies(ann_, "a"), (std::vector<std::string>{"lazy", "barrier"}));
  EXPECT_EQ(run(std::move(lazy))->records[0].seq, 1);
}

}  // namespace chela::store
