#include "agent/engine_test_fixture.h"
#include "agent/turn/notes.h"

namespace chela::agent {
namespace {

TEST_F(EngineTest, AnInterruptEndsAStalledModelCall) {
  provider_.add({llm::Answer{.text = "never"}, {"par"}, true});
  const auto accepted = send("go");
  until_requests(1);
  ASSERT_TRUE(run(engine().interrupt(kScope, accepted->thread_id)));
  EXPECT_EQ(outcome(*accepted).state, TurnState::kInterrupted);
  EXPECT_EQ(run(engine().interrupt(kScope, accepted->thread_id)).error().code, Code::kConflict);
  provider_.say("next");
  EXPECT_EQ(outcome(*send("hello again", accepted->thread_id)).reply, "next");
}

TEST_F(EngineTest, AnInterruptEndsARunningTool) {
  provider_.call({{"a", "free", R"({"hang":true})"}});
  const auto accepted = send("go");
  loop_.run_until([&] { return free_runs_ == 1; });
  ASSERT_TRUE(run(engine().interrupt(kScope, accepted->thread_id)));
  provider_.say("fine");
  EXPECT_EQ(outcome(*send("next", accepted->thread_id)).reply, "fine");
  const auto& messages = provider_.requests.back().messages;
  EXPECT_EQ(messages[messages.size() - 2].content, turn::kStoppedResult);
}

TEST_F(EngineTest, AnInterruptMayMeanOneTurn) {
  provider_.add({llm::Answer{.text = "never"}, {}, true});
  const auto accepted = send("go");
  until_requests(1);
  EXPECT_EQ(run(engine().interrupt(kScope, accepted->thread_id, "another")).error().code, Code::kConflict);
  ASSERT_TRUE(run(engine().interrupt(kScope, accepted->thread_id, accepted->turn_id)));
}

TEST_F(EngineTest, SteeringJoinsTheRunningTurn) {
  provider_.call({{"a", "asks", "{}"}});
  const auto accepted = send("go");
  const TurnOutcome waiting = outcome(*accepted);
  const auto steered = send("and be quick", accepted->thread_id);
  ASSERT_TRUE(steered);
  EXPECT_EQ(steered->turn_id, accepted->turn_id);
  provider_.say("ok");
  ASSERT_TRUE(run(engine().decide(kScope, waiting.approval->request_id, Decision::kApprove, {"*"})));
  EXPECT_EQ(outcome(*accepted).reply, "ok");
  EXPECT_EQ(provider_.requests[1].messages.back().content, "and be quick");
  const auto history = run(engine().history(kScope, accepted->thread_id, 10, {}));
  EXPECT_EQ(history->turns[0].steered, std::vector<std::string>{"and be quick"});
}

TEST_F(EngineTest, SteeringIsBounded) {
  provider_.call({{"a", "asks", "{}"}});
  const auto accepted = send("go");
  outcome(*accepted);
  for (size_t i = 0; i < kMaxSteeringQueue; ++i) ASSERT_TRUE(send("more", accepted->thread_id));
  EXPECT_EQ(send("too much", accepted->thread_id).error().code, Code::kRateLimited);
}

TEST_F(EngineTest, BusyQueueStartsTheNextTurnAfterwards) {
  restart({.busy = WhenBusy::kQueue});
  provider_.call({{"a", "asks", "{}"}});
  const auto first = send("one");
  const TurnOutcome waiting = outcome(*first);
  const auto second = send("two", first->thread_id);
  ASSERT_TRUE(second);
  EXPECT_NE(second->turn_id, first->turn_id);
  provider_.say("first done");
  provider_.say("second done");
  ASSERT_TRUE(run(engine().decide(kScope, waiting.approval->request_id, Decision::kApprove, {"*"})));
  EXPECT_EQ(outcome(*second).reply, "second done");
  EXPECT_EQ(outcome(*first).reply, "first done");
}

TEST_F(EngineTest, TwoFirstMessagesOfAChannelComeToOneThread) {
  provider_.say("both heard");
  provider_.say("both heard");
  const Inbound message{.scope = kScope, .channel = "test", .thread_id = {}, .content = "hello"};
  std::vector<Task<Result<Accepted>>> both;
  both.push_back(engine().send(message));
  both.push_back(engine().send(message));
  const std::vector<Result<Accepted>> taken = run(runtime::gather(loop_, std::move(both)));
  ASSERT_TRUE(taken[0] && taken[1]);
  EXPECT_EQ(taken[0]->thread_id, taken[1]->thread_id);
  EXPECT_EQ(run(engine().threads(kScope, {.limit = 10}))->size(), 1u);
  outcome(*taken[1]);
}

TEST_F(EngineTest, TheSameKeyIsOneTurn) {
  provider_.say("once");
  const auto first = send("hello", "", "key-1");
  outcome(*first);
  const auto second = send("hello", "", "key-1");
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->duplicate);
  EXPECT_EQ(second->message_id, first->message_id);
  EXPECT_EQ(provider_.requests.size(), 1u);
}

TEST_F(EngineTest, ARepeatedKeySaysWhichTurnItWas) {
  provider_.say("once");
  const auto first = send("hello", "", "key-1");
  outcome(*first);
  EXPECT_EQ(send("hello", "", "key-1")->turn_id, first->turn_id);
  restart();
  EXPECT_EQ(send("hello", "", "key-1")->turn_id, first->turn_id);
}

TEST_F(EngineTest, AMessageTakesItsPlaceBehindThoseThatWait) {
  restart({.busy = WhenBusy::kQueue});
  provider_.call({{"a", "asks", "{}"}});
  const auto first = send("one");
  outcome(*first);
  const auto second = send("two", first->thread_id);
  provider_.say("second done");
  provider_.say("third done");
  // The end of the first turn and the third message race for the thread.
  const auto end_then_send = [](Engine& engine, Scope scope, std::string thread) -> Task<Result<Accepted>> {
    if (const Result<> ended = co_await engine.interrupt(scope, thread); !ended)
      co_return fail(ended.error());
    co_return co_await engine.send(
        {.scope = scope, .channel = "test", .thread_id = thread, .content = "three"});
  };
  const auto third = run(end_then_send(engine(), kScope, first->thread_id));
  ASSERT_TRUE(third);
  EXPECT_EQ(outcome(*second).reply, "second done");
  EXPECT_EQ(outcome(*third).reply, "third done");
}

}  // namespace
}  // namespace chela::agent
