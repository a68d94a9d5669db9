#pragma once

#include <chrono>
#include <set>

#include "base/limits.h"
#include "store/conformance.h"

namespace chela::store {

class TurnLogConformance : public StoreConformance {
 protected:
  TurnLogStore& log() { return stores_->turn_log(); }

  ThreadRow row(const Scope& scope, const std::string& id, const std::string& external = "") {
    return ThreadRow{.id = id,
                     .scope = scope,
                     .channel = "gateway",
                     .external_thread = external,
                     .created_at = 10,
                     .updated_at = 10};
  }
  void make_thread(const Scope& scope, const std::string& id, const std::string& external = "") {
    const Result<ThreadRow> made = run(log().ensure_thread(row(scope, id, external)));
    ASSERT_TRUE(made) << made.error().text();
  }
  AppendRequest request(const Scope& scope, const std::string& thread, std::vector<std::string> bodies,
                        Durability durability = Durability::kBarrier) {
    AppendRequest append{.scope = scope, .thread = thread, .durability = durability, .at = 100};
    for (std::string& body : bodies)
      append.records.push_back(NewRecord{.turn = "t1", .kind = "TurnStarted", .body = std::move(body)});
    return append;
  }
  OutboxRow reply(const Scope& scope, const std::string& id) {
    return OutboxRow{.id = id,
                     .scope = scope,
                     .channel = "gateway",
                     .thread = "a",
                     .turn = "t1",
                     .content = "hello",
                     .created_at = 7};
  }
  std::vector<std::string> bodies(const Scope& scope, const std::string& thread) {
    std::vector<std::string> found;
    const Result<std::vector<LogRecord>> records = run(log().read_thread(scope, thread, 0, 1000));
    EXPECT_TRUE(records);
    if (records) {
      for (const LogRecord& record : *records) found.push_back(record.body);
    }
    return found;
  }
};

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

TEST_P(TurnLogConformance, BodiesAreKeptToTheByte) {
  make_thread(ann_, "a");
  const std::string odd("\0'\";--\xf0\x9f\xa6\x80\n", 11);
  ASSERT_TRUE(run(log().append(request(ann_, "a", {odd, ""}))));
  EXPECT_EQ(bodies(ann_, "a"), (std::vector<std::string>{odd, ""}));
}

TEST_P(TurnLogConformance, AThreadIsFoundByItsKeyOnlyWithAllItsParts) {
  const Result<ThreadRow> made = run(log().ensure_thread(row(ann_, "a", "chat-1")));
  ASSERT_TRUE(made);
  const Result<ThreadRow> again = run(log().ensure_thread(row(ann_, "other-id", "chat-1")));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, "a");
  EXPECT_EQ(run(log().ensure_thread(row(ann_coder_, "b", "chat-1")))->id, "b");
  EXPECT_EQ(run(log().ensure_thread(row(bob_, "c", "chat-1")))->id, "c");

  const auto found = run(log().thread_by_key(ann_coder_, "gateway", "chat-1"));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->id, "b");
  EXPECT_EQ((*found)->scope, ann_coder_);
  EXPECT_FALSE(*run(log().thread_by_key(ann_, "telegram", "chat-1")));
  EXPECT_FALSE(*run(log().thread_by_key(other_ann_, "gateway", "chat-1")));
}

TEST_P(TurnLogConformance, ThreadsWithoutAnExternalNameAreNeverTheSame) {
  make_thread(ann_, "a");
  make_thread(ann_, "b");
  EXPECT_FALSE(*run(log().thread_by_key(ann_, "gateway", "")));
  EXPECT_EQ(run(log().threads(ann_, 10))->size(), 2U);
  EXPECT_EQ(code_of(run(log().ensure_thread(row(ann_, "a")))), Code::kConflict);
  EXPECT_EQ(code_of(run(log().ensure_thread(row(bob_, "a")))), Code::kConflict);
  EXPECT_EQ(code_of(run(log().ensure_thread(row(ann_, "")))), Code::kInvalidArgument);
}

TEST_P(TurnLogConformance, AnAppendChangesTheThreadInTheSameStep) {
  make_thread(ann_, "a");
  AppendRequest start = request(ann_, "a", {"1"});
  start.open_turn = "t1";
  start.title = "Dentist";
  ASSERT_TRUE(run(log().append(start)));
  const Result<std::vector<ThreadRow>> open = run(log().open_threads());
  ASSERT_TRUE(open);
  ASSERT_EQ(open->size(), 1U);
  EXPECT_EQ(open->front().open_turn, "t1");

  AppendRequest end = request(ann_, "a", {"2"});
  end.open_turn = "";
  end.transcript_hash = "h1";
  end.add_turns = 1;
  end.at = 200;
  ASSERT_TRUE(run(log().append(end)));
  EXPECT_TRUE(run(log().open_threads())->empty());
  const Result<ThreadRow> now = run(log().thread(ann_, "a"));
  ASSERT_TRUE(now);
  EXPECT_EQ(now->title, "Dentist");
  EXPECT_EQ(now->turn_count, 1);
  EXPECT_EQ(now->created_at, 10);
  EXPECT_EQ(now->updated_at, 200);
}

TEST_P(TurnLogConformance, ATranscriptFindsTheThreadUsedLast) {
  for (const char* id : {"a", "b", "c"}) {
    make_thread(ann_, id);
    AppendRequest append = request(ann_, id, {"1"});
    append.transcript_hash = "same";
    append.at = std::string(id) == "b" ? 300 : 200;
    ASSERT_TRUE(run(log().append(append)));
  }
  EXPECT_EQ((*run(log().thread_by_transcript(ann_, "gateway", "same")))->id, "b");
  EXPECT_FALSE(*run(log().thread_by_transcript(ann_, "v1", "same")));
  EXPECT_FALSE(*run(log().thread_by_transcript(bob_, "gateway", "same")));
  EXPECT_FALSE(*run(log().thread_by_transcript(ann_, "gateway", "")));
}

TEST_P(TurnLogConformance, ThreadsComeNewestFirst) {
  for (int i = 0; i < 4; ++i) {
    const std::string id(1, static_cast<char>('a' + i));
    make_thread(ann_, id);
    AppendRequest append = request(ann_, id, {"1"});
    append.at = 100 + (i * 37) % 100;  // 100, 137, 174, 111
    ASSERT_TRUE(run(log().append(append)));
  }
  std::string order;
  for (const ThreadRow& thread : *run(log().threads(ann_, 3))) order += thread.id;
  EXPECT_EQ(order, "cbd");
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
    EXPECT_TRUE(run(log().threads(stranger, 10))->empty());
    EXPECT_FALSE(*run(log().idempotent_message(stranger, "k", 100)));
    EXPECT_EQ(code_of(run(log().outbox_update(stranger, "o1", "delivered", 1))), Code::kNotFound);
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

TEST_P(TurnLogConformance, AKeyCountsOnceInADay) {
  const UnixMs day = std::chrono::duration_cast<std::chrono::milliseconds>(kIdempotencyWindow).count();
  make_thread(ann_, "a");
  make_thread(ann_, "b");
  make_thread(bob_, "c");
  AppendRequest first = request(ann_, "a", {"1"});
  first.idempotency.emplace("k", "m1");
  ASSERT_TRUE(run(log().append(first)));
  const auto known = run(log().idempotent_message(ann_, "k", 100 + day - 1));
  ASSERT_TRUE(known && *known);
  EXPECT_EQ(**known, std::make_pair(std::string("m1"), std::string("a")));

  AppendRequest again = request(ann_, "b", {"2"});
  again.idempotency.emplace("k", "m2");
  again.title = "changed";
  again.outbox = reply(ann_, "o1");
  again.at = 100 + day - 1;
  const Result<Appended> refused = run(log().append(again));
  ASSERT_EQ(code_of(refused), Code::kConflict);
  EXPECT_EQ(refused.error().detail("message_id"), "m1");
  EXPECT_EQ(refused.error().detail("thread"), "a");
  EXPECT_TRUE(bodies(ann_, "b").empty());
  EXPECT_EQ(run(log().thread(ann_, "b"))->title, "");
  EXPECT_TRUE(run(log().outbox_pending(10))->empty());

  AppendRequest other = request(bob_, "c", {"3"});
  other.idempotency.emplace("k", "m3");
  EXPECT_TRUE(run(log().append(other)));

  again.at = 100 + day;
  ASSERT_TRUE(run(log().append(again)));
  EXPECT_EQ((*run(log().idempotent_message(ann_, "k", again.at)))->first, "m2");
}

TEST_P(TurnLogConformance, TheSameKeyAtTheSameTimeCountsOnce) {
  make_thread(ann_, "a");
  std::vector<Task<Result<Appended>>> tasks;
  for (int i = 0; i < 20; ++i) {
    AppendRequest append = request(ann_, "a", {std::to_string(i)});
    append.idempotency.emplace("k", "m" + std::to_string(i));
    tasks.push_back(log().append(std::move(append)));
  }
  int accepted = 0;
  for (const Result<Appended>& appended : run_all(std::move(tasks))) {
    if (appended) ++accepted;
    if (!appended) EXPECT_EQ(appended.error().detail("message_id"), "m0");
  }
  EXPECT_EQ(accepted, 1);
  EXPECT_EQ(bodies(ann_, "a"), std::vector<std::string>{"0"});
}

TEST_P(TurnLogConformance, OldKeysAreForgotten) {
  const UnixMs day = std::chrono::duration_cast<std::chrono::milliseconds>(kIdempotencyWindow).count();
  make_thread(ann_, "a");
  std::vector<Task<Result<Appended>>> tasks;
  for (int i = 0; i < 2 * kExpireKeysEvery; ++i) {
    AppendRequest append = request(ann_, "a", {});
    append.idempotency.emplace("k" + std::to_string(i), "m");
    append.at = i < kExpireKeysEvery + 1 ? 100 : 100 + 2 * day;
    tasks.push_back(log().append(std::move(append)));
  }
  for (const Result<Appended>& appended : run_all(std::move(tasks))) ASSERT_TRUE(appended);
  // Asked as of the first day: the window does not hide them, they are gone. The later ones are not.
  EXPECT_FALSE(*run(log().idempotent_message(ann_, "k0", 100)));
  EXPECT_TRUE(
      *run(log().idempotent_message(ann_, "k" + std::to_string(kExpireKeysEvery + 5), 100 + 2 * day)));
}

TEST_P(TurnLogConformance, TheOutboxRowComesWithItsRecordOrNotAtAll) {
  make_thread(ann_, "a");
  AppendRequest finish = request(ann_, "a", {"finished"});
  finish.outbox = reply(ann_, "o1");
  ASSERT_TRUE(run(log().append(finish)));
  // A second row of the same id cannot be written: its record is not there either, and the count has no gap.
  EXPECT_FALSE(run(log().append(finish)));
  AppendRequest unknown = finish;
  unknown.thread = "nowhere";
  unknown.outbox->id = "o2";
  EXPECT_EQ(code_of(run(log().append(unknown))), Code::kNotFound);
  AppendRequest foreign = finish;
  foreign.outbox = reply(bob_, "o3");
  EXPECT_EQ(code_of(run(log().append(foreign))), Code::kInvalidArgument);
  EXPECT_EQ(bodies(ann_, "a"), std::vector<std::string>{"finished"});
  const Result<std::vector<OutboxRow>> pending = run(log().outbox_pending(10));
  ASSERT_TRUE(pending);
  ASSERT_EQ(pending->size(), 1U);
  EXPECT_EQ(pending->front().content, "hello");
  EXPECT_EQ(pending->front().scope, ann_);
  EXPECT_EQ(run(log().append(request(ann_, "a", {"next"})))->records[0].seq, 2);
}

TEST_P(TurnLogConformance, TheOutboxGivesWhatIsNotDeliveredOldestFirst) {
  make_thread(ann_, "a");
  make_thread(bob_, "b");
  for (int i = 0; i < 4; ++i) {
    const Scope& scope = i % 2 == 0 ? ann_ : bob_;
    AppendRequest finish = request(scope, i % 2 == 0 ? "a" : "b", {"x"});
    finish.outbox = reply(scope, "o" + std::to_string(i));
    finish.outbox->created_at = 50 - i;
    ASSERT_TRUE(run(log().append(finish)));
  }
  ASSERT_TRUE(run(log().outbox_update(bob_, "o3", "sending", 1)));
  ASSERT_TRUE(run(log().outbox_update(ann_, "o2", "delivered", 1)));
  const Result<std::vector<OutboxRow>> pending = run(log().outbox_pending(2));
  ASSERT_TRUE(pending);
  ASSERT_EQ(pending->size(), 2U);
  EXPECT_EQ((*pending)[0].id, "o3");
  EXPECT_EQ((*pending)[0].state, "sending");
  EXPECT_EQ((*pending)[0].attempts, 1);
  EXPECT_EQ((*pending)[1].id, "o1");
  EXPECT_EQ(code_of(run(log().outbox_update(ann_, "o0", "lost", 1))), Code::kInvalidArgument);
}

}  // namespace chela::store
