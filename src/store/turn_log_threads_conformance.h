#pragma once

#include <algorithm>

#include "store/turn_log_fixture.h"

namespace chela::store {

// The rows of threads: how they are found, and how they change with their records.

TEST_P(TurnLogConformance, AThreadBeginsWithItsFirstRecord) {
  AppendRequest first = request(ann_, "a", {"1"});
  first.create = row(ann_, "a", "chat-1");
  first.title = "Dentist";
  first.open_turn = "t1";
  first.add_turns = 1;
  const Result<Appended> appended = run(log().append(first));
  ASSERT_TRUE(appended) << appended.error().text();
  EXPECT_EQ(appended->records[0].seq, 1);
  const Result<ThreadRow> made = run(log().thread(ann_, "a"));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->title, "Dentist");
  EXPECT_EQ(made->turn_count, 1);
  EXPECT_EQ(made->last_seq, 1);
  EXPECT_EQ(made->created_at, 10);
  EXPECT_EQ((*run(log().thread_by_key(ann_, "gateway", "chat-1")))->id, "a");
}

TEST_P(TurnLogConformance, AThreadThatCannotBeginLeavesNothing) {
  make_thread(ann_, "a", "chat-1");
  AppendRequest taken = request(ann_, "a", {"1"});
  taken.create = row(ann_, "a");
  EXPECT_EQ(code_of(run(log().append(taken))), Code::kConflict);
  AppendRequest named = request(ann_, "b", {"1"});
  named.create = row(ann_, "b", "chat-1");
  named.idempotency.emplace("k", "m1");
  EXPECT_EQ(code_of(run(log().append(named))), Code::kConflict);
  AppendRequest foreign = request(ann_, "b", {"1"});
  foreign.create = row(bob_, "b");
  EXPECT_EQ(code_of(run(log().append(foreign))), Code::kInvalidArgument);
  foreign.create = row(ann_, "c");
  EXPECT_EQ(code_of(run(log().append(foreign))), Code::kInvalidArgument);
  EXPECT_TRUE(bodies(ann_, "a").empty());
  EXPECT_EQ(code_of(run(log().thread(ann_, "b"))), Code::kNotFound);
  EXPECT_EQ(code_of(run(log().thread(ann_, "c"))), Code::kNotFound);
  EXPECT_FALSE(*run(log().idempotent_message(ann_, "k", 100)));
  // A used key stops the thread as well.
  AppendRequest keyed = request(ann_, "a", {"1"});
  keyed.idempotency.emplace("k", "m1");
  ASSERT_TRUE(run(log().append(keyed)));
  AppendRequest again = request(ann_, "b", {"1"});
  again.create = row(ann_, "b");
  again.idempotency.emplace("k", "m2");
  EXPECT_EQ(run(log().append(again)).error().detail("message_id"), "m1");
  EXPECT_EQ(code_of(run(log().thread(ann_, "b"))), Code::kNotFound);
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
  EXPECT_EQ(run(log().threads(ann_, {.limit = 10}))->size(), 2U);
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
  EXPECT_FALSE(*run(log().thread_by_transcript(ann_coder_, "gateway", "same")));
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
  for (const ThreadRow& thread : *run(log().threads(ann_, {.limit = 3}))) order += thread.id;
  EXPECT_EQ(order, "cbd");
}

TEST_P(TurnLogConformance, ThreadsAreFoundByChannelAndTitle) {
  const std::vector<std::pair<std::string, std::string>> titles{
      {"a", "Red kite"}, {"b", "50% off_now!"}, {"c", "red herring"}};
  for (const auto& [id, title] : titles) {
    ThreadRow thread = row(ann_, id);
    thread.title = title;
    thread.channel = id == "c" ? "cli" : "gateway";
    ASSERT_TRUE(run(log().ensure_thread(thread)));
  }
  const auto found = [this](const ThreadFilter& filter) {
    std::string ids;
    for (const ThreadRow& thread : *run(log().threads(ann_, filter))) ids += thread.id;
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  EXPECT_EQ(found({}), "abc");
  EXPECT_EQ(found({.text = "RED"}), "ac");
  EXPECT_EQ(found({.channel = "cli", .text = "red"}), "c");
  EXPECT_EQ(found({.channel = "gateway"}), "ab");
  for (const char* literal : {"%", "_", "!", "50% off_now!"})
    EXPECT_EQ(found({.text = literal}), "b") << literal;
  EXPECT_EQ(found({.text = "redder"}), "");
}

}  // namespace chela::store
