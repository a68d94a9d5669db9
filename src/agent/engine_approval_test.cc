#include "agent/engine_test_fixture.h"

namespace chela::agent {
namespace {

TEST_F(EngineTest, ApprovalByAPlainYes) {
  provider_.call({{"a", "asks", "{}"}});
  provider_.say("did it");
  const auto accepted = send("go");
  const TurnOutcome waiting = outcome(*accepted);
  ASSERT_EQ(waiting.state, TurnState::kAwaitingApproval);
  EXPECT_EQ(waiting.approval->tool_name, "asks");
  EXPECT_EQ(ask_runs_, 0);
  const auto yes = send("yes", accepted->thread_id);
  ASSERT_TRUE(yes);
  EXPECT_EQ(yes->turn_id, accepted->turn_id);
  EXPECT_EQ(outcome(*accepted).reply, "did it");
  EXPECT_EQ(ask_runs_, 1);
}

TEST_F(EngineTest, ABareYesWithNothingPendingIsAMessage) {
  provider_.say("yes what?");
  EXPECT_EQ(outcome(*send("yes")).reply, "yes what?");
}

TEST_F(EngineTest, ADenialIsToldToTheModelOnce) {
  provider_.call({{"a", "asks", "{}"}});
  provider_.say("understood");
  const auto accepted = send("go");
  const TurnOutcome waiting = outcome(*accepted);
  ASSERT_TRUE(run(engine().decide(kScope, waiting.approval->request_id, Decision::kDeny, {"*"})));
  EXPECT_EQ(outcome(*accepted).reply, "understood");
  EXPECT_EQ(ask_runs_, 0);
  EXPECT_NE(provider_.requests[1].messages.back().content.find("Do not repeat it"), std::string::npos);
  const auto history = run(engine().history(kScope, accepted->thread_id, 10, {}));
  ASSERT_TRUE(history);
  EXPECT_EQ(history->turns.back().tool_calls.at(0).result_preview, "declined") << "what people read";
  EXPECT_EQ(run(engine().decide(kScope, waiting.approval->request_id, Decision::kDeny, {"*"})).error().code,
            Code::kNotFound);
}

TEST_F(EngineTest, AlwaysIsNeverAskedAgainNotEvenAfterARestart) {
  provider_.call({{"a", "asks", "{}"}});
  provider_.say("one");
  const auto first = send("go");
  const TurnOutcome waiting = outcome(*first);
  ASSERT_TRUE(run(engine().decide(kScope, waiting.approval->request_id, Decision::kAlways, {"*"})));
  EXPECT_EQ(outcome(*first).state, TurnState::kCompleted);
  restart();
  provider_.call({{"b", "asks", "{}"}});
  provider_.say("two");
  EXPECT_EQ(outcome(*send("again", first->thread_id)).reply, "two");
  EXPECT_EQ(ask_runs_, 2);
}

TEST_F(EngineTest, AnApprovalSurvivesARestart) {
  provider_.call({{"a", "asks", "{}"}});
  const auto accepted = send("go");
  const TurnOutcome waiting = outcome(*accepted);
  restart();
  provider_.say("after");
  ASSERT_TRUE(run(engine().decide(kScope, waiting.approval->request_id, Decision::kApprove, {"*"})));
  EXPECT_EQ(outcome(*accepted).reply, "after");
  EXPECT_EQ(ask_runs_, 1);
}

TEST_F(EngineTest, AnotherUserCannotAnswerOrRead) {
  provider_.call({{"a", "asks", "{}"}});
  const auto accepted = send("go");
  const TurnOutcome waiting = outcome(*accepted);
  const Scope other{"default", "u2", ""};
  EXPECT_EQ(run(engine().decide(other, waiting.approval->request_id, Decision::kApprove, {"*"})).error().code,
            Code::kNotFound);
  EXPECT_EQ(run(engine().history(other, accepted->thread_id, 10, {})).error().code, Code::kNotFound);
  EXPECT_EQ(run(engine().interrupt(other, accepted->thread_id)).error().code, Code::kNotFound);
  EXPECT_EQ(run(engine().wait(other, accepted->turn_id, {})).error().code, Code::kNotFound);
  EXPECT_EQ(run(engine().subscribe(other, accepted->thread_id, "")).error().code, Code::kNotFound);
  EXPECT_EQ(run(engine().send(
                    {.scope = other, .channel = "test", .thread_id = accepted->thread_id, .content = "x"}))
                .error()
                .code,
            Code::kNotFound);
}

TEST_F(EngineTest, NobodyApprovesWhatTheyMayNotDo) {
  provider_.call({{"a", "asks", "{}"}});
  const auto accepted = send("go");
  const std::string request = outcome(*accepted).approval->request_id;
  const op::Permissions others{"chat:*", "tools:files"};
  for (const Decision decision : {Decision::kApprove, Decision::kAlways})
    EXPECT_EQ(run(engine().decide(kScope, request, decision, others)).error().code, Code::kPermissionDenied);
  for (const char* text : {"yes", "always", "/approve", "/always"}) {
    const auto said = run(engine().send({.scope = kScope,
                                         .channel = "test",
                                         .thread_id = accepted->thread_id,
                                         .content = text,
                                         .permissions = others}));
    ASSERT_FALSE(said) << text;
    EXPECT_EQ(said.error().code, Code::kPermissionDenied) << text;
  }
  EXPECT_EQ(outcome(*accepted).state, TurnState::kAwaitingApproval);
  EXPECT_EQ(ask_runs_, 0);
  provider_.say("without it");
  ASSERT_TRUE(run(engine().decide(kScope, request, Decision::kDeny, others)));
  EXPECT_EQ(outcome(*accepted).reply, "without it");
  // Nothing of the refused "always" stayed.
  provider_.call({{"b", "asks", "{}"}});
  const auto again = send("again", accepted->thread_id);
  const TurnOutcome asked = outcome(*again);
  ASSERT_EQ(asked.state, TurnState::kAwaitingApproval);
  provider_.say("done");
  ASSERT_TRUE(run(engine().decide(kScope, asked.approval->request_id, Decision::kApprove, {"tools:test"})));
  EXPECT_EQ(outcome(*again).reply, "done");
  EXPECT_EQ(ask_runs_, 1);
}

TEST_F(EngineTest, ARepeatedYesIsNoNewMessage) {
  provider_.call({{"a", "asks", "{}"}});
  provider_.say("did it");
  const auto accepted = send("go");
  outcome(*accepted);
  const auto yes = send("yes", accepted->thread_id, "key-yes");
  ASSERT_TRUE(yes);
  outcome(*accepted);
  const auto again = send("yes", accepted->thread_id, "key-yes");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(again->message_id, yes->message_id);
  EXPECT_EQ(again->turn_id, accepted->turn_id);
  restart();
  EXPECT_EQ(send("yes", accepted->thread_id, "key-yes")->turn_id, accepted->turn_id);
  EXPECT_EQ(provider_.requests.size(), 2u);
}

}  // namespace
}  // namespace chela::agent
