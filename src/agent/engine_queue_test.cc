#include "agent/engine_test_fixture.h"

namespace chela::agent {
namespace {

// Messages that wait for turns of their own, and what becomes of those that cannot start one.
class QueueTest : public EngineTest {
 protected:
  QueueTest() { restart({.busy = WhenBusy::kQueue}); }

  // Starts a turn that waits for an approval.
  Accepted busy(const Scope& scope) {
    provider_.call({{"a", "asks", "{}"}});
    const auto accepted = take(message(scope, "go", ""));
    EXPECT_TRUE(accepted) << accepted.error().message;
    request_ = outcome(*accepted).approval->request_id;
    return *accepted;
  }
  Inbound message(const Scope& scope, std::string content, std::string thread) {
    return {.scope = scope,
            .channel = "test",
            .thread_id = std::move(thread),
            .content = std::move(content),
            .permissions = {"*"}};
  }
  Result<Accepted> take(Inbound inbound) { return run(engine().send(std::move(inbound))); }
  void expect_replays(const std::string& thread) {
    const auto report = run(engine().replay(kScope, thread, 0));
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->differences.empty()) << report->differences.front();
  }

  std::string request_;
};

TEST_F(QueueTest, AnImpossibleChoiceIsRefusedBeforeItIsRecorded) {
  const Accepted first = busy(kScope);
  Inbound inbound = message(kScope, "two", first.thread_id);
  inbound.tool_choice_name = "nope";
  const auto refused = take(inbound);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().detail("param"), "tool_choice");
  inbound.tool_choice_name = "free";
  const auto accepted = take(inbound);
  ASSERT_TRUE(accepted) << accepted.error().message;
  provider_.say("one done");
  provider_.say("two done");
  ASSERT_TRUE(run(engine().decide(kScope, request_, Decision::kApprove, {"*"})));
  EXPECT_EQ(outcome(*accepted).reply, "two done");
  expect_replays(first.thread_id);
}

// What was possible when it was sent need not be when its turn comes.
TEST_F(QueueTest, AMessageThatCannotStartFailsAndTheNextOneRuns) {
  const Accepted first = busy(kScope);
  Inbound inbound = message(kScope, "bad", first.thread_id);
  inbound.tool_choice_name = "free";
  const auto bad = take(inbound);
  const auto good = take(message(kScope, "good", first.thread_id));
  ASSERT_TRUE(bad && good);
  parts_.agents = {{.name = "default", .tools = {"asks"}}};
  restart({.busy = WhenBusy::kQueue});
  provider_.say("one done");
  provider_.say("good done");
  ASSERT_TRUE(run(engine().decide(kScope, request_, Decision::kApprove, {"*"})));
  const TurnOutcome failed = outcome(*bad);
  EXPECT_EQ(failed.state, TurnState::kFailed);
  ASSERT_TRUE(failed.error);
  EXPECT_EQ(failed.error->detail("param"), "tool_choice");
  EXPECT_EQ(outcome(*good).reply, "good done");
  const auto history = run(engine().history(kScope, first.thread_id, 10, {}));
  ASSERT_EQ(history->turns.size(), 3u);
  EXPECT_EQ(history->turns[1].state, TurnState::kFailed);
  EXPECT_NE(history->turns[1].error.find("free"), std::string::npos);
  expect_replays(first.thread_id);
  restart();
  provider_.say("on");
  EXPECT_EQ(outcome(*send("more", first.thread_id)).reply, "on");
  expect_replays(first.thread_id);
}

TEST_F(QueueTest, MessagesOfAnAgentThatIsGoneFailAfterARestart) {
  const Scope writer{"default", "u1", "writer"};
  parts_.agents = {{.name = "writer"}};
  restart({.busy = WhenBusy::kQueue});
  const Accepted first = busy(writer);
  std::vector<Accepted> queued;
  for (int i = 0; i < 3; ++i) queued.push_back(*take(message(writer, "more", first.thread_id)));
  parts_.agents.clear();
  restart({.busy = WhenBusy::kQueue});
  EXPECT_EQ(outcome(first).state, TurnState::kFailed);
  for (const Accepted& each : queued) {
    const TurnOutcome failed = outcome(each);
    EXPECT_EQ(failed.state, TurnState::kFailed);
    EXPECT_EQ(failed.error->code, Code::kNotFound);
  }
  EXPECT_EQ(run(engine().threads(kScope, {.limit = 1}))->front().state, "Idle");
  parts_.agents = {{.name = "writer"}};
  restart({.busy = WhenBusy::kQueue});
  provider_.say("back");
  EXPECT_EQ(outcome(*take(message(writer, "hello", first.thread_id))).reply, "back");
}

}  // namespace
}  // namespace chela::agent
