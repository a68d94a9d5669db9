#include "agent/hub.h"

#include <gtest/gtest.h>

#include "agent/turn/records.h"
#include "runtime/asio_loop.h"
#include "runtime/task_group.h"
#include "store/sqlite/database.h"

namespace chela::agent {
namespace {

const Scope kScope{"default", "u1", ""};
const std::string kThread = "t1";

class HubTest : public ::testing::Test {
 protected:
  template <class T>
  T run(Task<T> task) {
    return runtime::block_on(loop_, std::move(task));
  }

  // The next record of the turn, committed.
  void publish(std::string turn, turn::Input input) {
    ++seq_;
    hub_.publish(kScope, {{.thread = kThread,
                           .seq = seq_,
                           .pos = seq_ + 100,
                           .turn = std::move(turn),
                           .kind = std::string(turn::kind_of(input)),
                           .body = turn::to_body(input)}});
  }

  void begin(const std::string& turn) { hub_.begin_call(kScope, kThread, turn, Hub::Attempt::kFirst); }
  void delta(const std::string& text) { hub_.delta(kScope, kThread, text); }

  // Types of what waits, deltas as their text.
  std::vector<std::string> seen(Subscription& subscription) {
    std::vector<std::string> out;
    while (const std::optional<Event> event = subscription.try_next()) {
      out.push_back(event->type == "stream_chunk" ? event->data.string_or("content") : event->type);
      if (!event->id.empty()) ids_.push_back(*Place::parse(event->id));
    }
    return out;
  }

  using Names = std::vector<std::string>;

  runtime::AsioLoop loop_;
  std::unique_ptr<store::sqlite::Database> database_ = *store::sqlite::Database::open_in_memory(loop_);
  Hub hub_{loop_, database_->turn_log(), 10, 512, 4};
  std::int64_t seq_ = 0;
  std::vector<Place> ids_;
};

TEST_F(HubTest, TextComesAfterTheRecordsBeforeIt) {
  const auto subscription = run(hub_.subscribe(kScope, kThread, ""));
  begin("one");
  delta("a");
  publish("one", turn::ModelRequested{0, "hash"});
  delta("b");
  // The next call begins before the answer of this one is committed, as it does in a fast tool loop.
  begin("one");
  delta("c");
  EXPECT_EQ(seen(**subscription), (Names{"a", "b"}));
  publish("one", turn::ModelAnswered{});
  publish("one", turn::ToolStarted{"id", "echo"});
  EXPECT_EQ(seen(**subscription), (Names{"usage", "tool_started"}));
  publish("one", turn::ModelRequested{1, "hash"});
  delta("d");
  publish("one", turn::ModelAnswered{});
  EXPECT_EQ(seen(**subscription), (Names{"c", "d", "usage"}));
  EXPECT_TRUE(std::is_sorted(ids_.begin(), ids_.end()));
  EXPECT_EQ(std::adjacent_find(ids_.begin(), ids_.end()), ids_.end());
}

TEST_F(HubTest, WhatFellOutOfTheRingBeforeItWasShownComesAsAReset) {
  const auto subscription = run(hub_.subscribe(kScope, kThread, ""));
  begin("one");
  for (const char* each : {"1", "2", "3", "4", "5", "6"}) delta(each);
  publish("one", turn::ModelRequested{0, "hash"});
  const std::optional<Event> reset = (*subscription)->try_next();
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->type, "stream_reset");
  EXPECT_EQ(reset->data.string_or("text"), "123456");
  delta("7");
  EXPECT_EQ(seen(**subscription), Names{"7"});
}

TEST_F(HubTest, ACallThatWasGivenUpLeavesThePlaceToTheNext) {
  const auto subscription = run(hub_.subscribe(kScope, kThread, ""));
  begin("one");
  delta("lost ");
  hub_.end_call(kScope, kThread);
  begin("one");
  delta("second");
  publish("one", turn::ModelRequested{0, "hash"});
  publish("one", turn::ModelRequested{0, "hash"});
  EXPECT_EQ(seen(**subscription), (Names{"lost ", "second"}));
}

TEST_F(HubTest, AnAnswerThatBeginsAnewIsAResetForAllWhoWatchOrComeLater) {
  const auto subscription = run(hub_.subscribe(kScope, kThread, ""));
  hub_.reset_call(kScope, kThread);  // of no call
  begin("one");
  publish("one", turn::ModelRequested{0, "hash"});
  hub_.reset_call(kScope, kThread);  // nothing was shown
  delta("Hel");
  const std::optional<Event> first = (*subscription)->try_next();
  hub_.reset_call(kScope, kThread);
  delta("Good day");
  const std::optional<Event> reset = (*subscription)->try_next();
  ASSERT_TRUE(first && reset);
  EXPECT_EQ(first->data.string_or("content"), "Hel");
  EXPECT_EQ(reset->type, "stream_reset");
  EXPECT_EQ(reset->data.string_or("text"), "");
  EXPECT_EQ(reset->data.string_or("turn_id"), "one");
  EXPECT_EQ(seen(**subscription), Names{"Good day"});
  const auto late = run(hub_.subscribe(kScope, kThread, "of no event"));
  ASSERT_TRUE(late);
  const std::optional<Event> whole = run((*late)->next({}));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->data.string_or("text"), "Good day") << "what was taken back is not told again";
}

TEST_F(HubTest, TheEndOfATurnEndsItsCalls) {
  const auto subscription = run(hub_.subscribe(kScope, kThread, ""));
  begin("one");
  publish("one", turn::ModelRequested{0, "hash"});
  delta("half");
  publish("one", turn::Interrupted{});
  begin("two");
  delta("whole");
  publish("two", turn::ModelRequested{0, "hash"});
  EXPECT_EQ(seen(**subscription), (Names{"half", "status", "turn_finished", "whole"}));
}

// While a client's place is looked up the engine works on, or stops.
TEST_F(HubTest, ARecordThatComesWhileAClientResumesIsSeenOnce) {
  store::TurnLogStore& log = database_->turn_log();
  ASSERT_TRUE(run(log.ensure_thread({.id = kThread, .scope = kScope, .channel = "test"})));
  const turn::Input input = turn::ToolStarted{"id", "echo"};
  const auto appended = run(log.append(
      {.scope = kScope, .thread = kThread, .records = {{"one", "ToolStarted", turn::to_body(input)}}}));
  ASSERT_TRUE(appended);
  std::optional<Result<std::unique_ptr<Subscription>>> subscribed;
  runtime::TaskGroup tasks(loop_);
  const auto subscribe = [](Hub& hub, auto& out) -> Task<> {
    out.emplace(co_await hub.subscribe(kScope, "", "0.0"));
  };
  tasks.spawn(subscribe(hub_, subscribed));
  hub_.publish(kScope, appended->records);
  run(tasks.join());
  ASSERT_TRUE(*subscribed);
  EXPECT_EQ(run((**subscribed)->next({}))->type, "tool_started");
  EXPECT_EQ(seen(***subscribed), Names{});
}

TEST_F(HubTest, ASubscriptionMayMeetTheEnd) {
  std::optional<Result<std::unique_ptr<Subscription>>> subscribed;
  runtime::TaskGroup tasks(loop_);
  const auto subscribe = [](Hub& hub, auto& out) -> Task<> {
    out.emplace(co_await hub.subscribe(kScope, "", "7.1"));
  };
  tasks.spawn(subscribe(hub_, subscribed));
  hub_.close();
  run(tasks.join());
  if (*subscribed) {
    EXPECT_FALSE((**subscribed)->try_next() && run((**subscribed)->next({})));
  } else {
    EXPECT_EQ(subscribed->error().code, Code::kUnavailable);
  }
}

TEST_F(HubTest, TheRingHoldsSoManyDeltas) {
  Hub hub(loop_, database_->turn_log(), 10);
  const auto subscription = run(hub.subscribe(kScope, kThread, ""));
  const auto show = [&](size_t deltas) {
    hub.begin_call(kScope, kThread, "one", Hub::Attempt::kFirst);
    for (size_t i = 0; i < deltas; ++i) hub.delta(kScope, kThread, "x");
    const turn::Input input = turn::ModelRequested{0, "hash"};
    ++seq_;
    hub.publish(kScope, {{.thread = kThread,
                          .seq = seq_,
                          .pos = seq_,
                          .turn = "one",
                          .kind = "ModelRequested",
                          .body = turn::to_body(input)}});
    hub.end_call(kScope, kThread);
    const std::optional<Event> first = (*subscription)->try_next();
    while ((*subscription)->try_next()) {
    }
    return first ? first->type : "";
  };
  EXPECT_EQ(show(kMaxDeltaRing), "stream_chunk");
  EXPECT_EQ(show(kMaxDeltaRing + 1), "stream_reset");
}

}  // namespace
}  // namespace chela::agent
