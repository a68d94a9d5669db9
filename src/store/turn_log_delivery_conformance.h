#pragma once

#include <chrono>

#include "base/limits.h"
#include "store/turn_log_fixture.h"

namespace chela::store {

// What is taken in once and what has to leave: idempotency keys and the outbox.

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
  ASSERT_TRUE(run(log().outbox_update(bob_, "o3", "sending", 1, 100)));
  ASSERT_TRUE(run(log().outbox_update(ann_, "o2", "delivered", 1, 100)));
  const Result<std::vector<OutboxRow>> pending = run(log().outbox_pending(2));
  ASSERT_TRUE(pending);
  ASSERT_EQ(pending->size(), 2U);
  EXPECT_EQ((*pending)[0].id, "o3");
  EXPECT_EQ((*pending)[0].state, "sending");
  EXPECT_EQ((*pending)[0].attempts, 1);
  EXPECT_EQ((*pending)[1].id, "o1");
  EXPECT_EQ(code_of(run(log().outbox_update(ann_, "o0", "lost", 1, 100))), Code::kInvalidArgument);
}

TEST_P(TurnLogConformance, DeliveredRepliesAreForgottenAfterTheirAge) {
  const UnixMs age = std::chrono::duration_cast<std::chrono::milliseconds>(kDeliveredReplyAge).count();
  make_thread(ann_, "a");
  std::vector<Task<Result<Appended>>> tasks;
  const int rows = static_cast<int>(kMaxPrunedReplies) + 3;
  for (int i = 0; i < rows; ++i) {
    AppendRequest finish = request(ann_, "a", {"x"});
    finish.outbox = reply(ann_, "o" + std::to_string(i));
    tasks.push_back(log().append(std::move(finish)));
  }
  for (const Result<Appended>& appended : run_all(std::move(tasks))) ASSERT_TRUE(appended);
  std::vector<Task<Result<>>> updates;
  for (int i = 0; i < rows - 1; ++i)
    updates.push_back(log().outbox_update(ann_, "o" + std::to_string(i), "delivered", 1, 7 + age - 1));
  for (const Result<>& updated : run_all(std::move(updates))) ASSERT_TRUE(updated);
  const auto is_there = [&](int i) {
    return run(log().outbox_update(ann_, "o" + std::to_string(i), "delivered", 1, 8)).has_value();
  };
  EXPECT_TRUE(is_there(0));  // a moment before its time
  // The last one's delivery forgets the oldest, a limited number at once; what is not delivered stays, however old.
  ASSERT_TRUE(run(log().outbox_update(ann_, "o" + std::to_string(rows - 1), "sending", 1, 7 + age)));
  EXPECT_TRUE(is_there(0));
  ASSERT_TRUE(run(log().outbox_update(ann_, "o" + std::to_string(rows - 2), "delivered", 2, 7 + age)));
  int left = 0;
  for (int i = 0; i < rows - 1; ++i) left += is_there(i) ? 1 : 0;
  EXPECT_EQ(left, 2);
  EXPECT_EQ(run(log().outbox_pending(10))->size(), 1U);
}

TEST_P(TurnLogConformance, OldKeysAreForgottenAFewAtATime) {
  const UnixMs day = std::chrono::duration_cast<std::chrono::milliseconds>(kIdempotencyWindow).count();
  make_thread(ann_, "a");
  const auto keep = [&](int from, int to, UnixMs at) {
    std::vector<Task<Result<Appended>>> tasks;
    for (int i = from; i < to; ++i) {
      AppendRequest append = request(ann_, "a", {});
      append.idempotency.emplace("k" + std::to_string(i), "m");
      append.at = at;
      tasks.push_back(log().append(std::move(append)));
    }
    for (const Result<Appended>& appended : run_all(std::move(tasks))) ASSERT_TRUE(appended);
  };
  const int old = static_cast<int>(kMaxExpiredKeys) + kExpireKeysEvery;  // a multiple of kExpireKeysEvery
  keep(0, old, 100);
  keep(old, old + kExpireKeysEvery, 100 + 2 * day);
  int left = 0;
  for (int i = 0; i < old; ++i)
    left += run(log().idempotent_message(ann_, "k" + std::to_string(i), 100))->has_value() ? 1 : 0;
  EXPECT_EQ(left, old - static_cast<int>(kMaxExpiredKeys));
}

}  // namespace chela::store
