#include <gtest/gtest.h>

#include <algorithm>

#include "agent/engine_test_fixture.h"
#include "agent/turn/notes.h"

// Each limit of turns is reached.
namespace chela::agent {
namespace {

class LimitsTest : public EngineTest {
 protected:
  std::string new_thread() { return run(engine().create_thread(kScope, "test", ""))->id; }
  std::vector<llm::ToolCall> calls(size_t count, const std::string& arguments) {
    std::vector<llm::ToolCall> made;
    for (size_t i = 0; i < count; ++i) made.push_back({fmt::format("c{}", i), "free", arguments});
    return made;
  }
};

TEST_F(LimitsTest, TheSettingsBeginWithTheLimits) {
  const EngineSettings settings;
  EXPECT_EQ(settings.max_iterations, kMaxIterations);
  EXPECT_EQ(settings.max_message_bytes, kMaxMessageBytes);
  EXPECT_EQ(settings.max_subscribers, kMaxEventSubscribers);
  EXPECT_EQ(settings.max_running_turns, kMaxRunningTurns);
  EXPECT_EQ(settings.max_known_outcomes, kMaxKnownOutcomes);
}

TEST_F(LimitsTest, MessagesThatWaitForTheirTurn) {
  restart({.busy = WhenBusy::kQueue});
  provider_.call({{"a", "asks", "{}"}});
  const auto accepted = send("go");
  outcome(*accepted);
  for (size_t i = 0; i < kMaxQueuedTurns; ++i) ASSERT_TRUE(send("more", accepted->thread_id));
  EXPECT_EQ(send("too much", accepted->thread_id).error().code, Code::kRateLimited);
}

TEST_F(LimitsTest, TurnsThatRunAtTheSameTime) {
  restart({.max_running_turns = 2});
  std::vector<Accepted> turns;
  for (int i = 0; i < 3; ++i) {
    provider_.add({llm::Answer{.text = "never"}, {}, true});
    turns.push_back(*send("go", new_thread()));
  }
  loop_.run_ready();
  EXPECT_EQ(provider_.requests.size(), 2u);
  ASSERT_TRUE(run(engine().interrupt(kScope, turns[0].thread_id)));
  loop_.run_ready();
  EXPECT_EQ(provider_.requests.size(), 3u);
  for (int i = 1; i < 3; ++i)
    ASSERT_TRUE(run(engine().interrupt(kScope, turns[static_cast<size_t>(i)].thread_id)));
}

TEST_F(LimitsTest, OutcomesKeptAtHand) {
  restart({.max_known_outcomes = 2});
  std::vector<Accepted> turns;
  for (int i = 0; i < 3; ++i) {
    provider_.say("hi");
    turns.push_back(*send("hello"));
    outcome(turns.back());
  }
  EXPECT_EQ(run(engine().wait(kScope, turns[0].turn_id, {})).error().code, Code::kNotFound);
  EXPECT_EQ(outcome(turns[1]).reply, "hi");
  EXPECT_EQ(outcome(turns[2]).reply, "hi");
}

TEST_F(LimitsTest, ToolsThatRunAtTheSameTime) {
  provider_.call(calls(kMaxParallelTools + 4, R"({"hang":true})"));
  const auto accepted = send("go");
  until_requests(1);
  loop_.run_ready();
  EXPECT_EQ(free_runs_, static_cast<int>(kMaxParallelTools));
  ASSERT_TRUE(run(engine().interrupt(kScope, accepted->thread_id)));
}

TEST_F(LimitsTest, CallsOfOneAnswer) {
  provider_.call(calls(kMaxToolCallsPerAnswer + 2, "{}"));
  provider_.say("done");
  EXPECT_EQ(outcome(*send("go")).reply, "done");
  EXPECT_EQ(free_runs_, static_cast<int>(kMaxToolCallsPerAnswer));
  const std::vector<llm::Message>& messages = provider_.requests[1].messages;
  EXPECT_EQ(std::count_if(messages.begin(), messages.end(),
                          [](const llm::Message& m) { return m.content == turn::kTooManyCallsResult; }),
            2);
}

TEST_F(LimitsTest, ModelsToldApartInTheCounts) {
  for (size_t i = 0; i < kMaxUsageModels + 2; ++i) {
    ASSERT_TRUE(run(engine().use_model(kScope, fmt::format("m{}", i))));
    provider_.say("hi");
    outcome(*send("hello"));
  }
  const std::vector<ModelUsage> used = engine().usage_since_start();
  ASSERT_EQ(used.size(), kMaxUsageModels + 1);
  EXPECT_EQ(used[kMaxUsageModels - 1].model, fmt::format("m{}", kMaxUsageModels - 1));
  EXPECT_EQ(used[kMaxUsageModels - 1].turns, 1);
  EXPECT_EQ(used.back().model, "other");
  EXPECT_EQ(used.back().turns, 2);
}

TEST_F(LimitsTest, DaysOfAUsageReport) {
  provider_.say("hi");
  outcome(*send("hello"));
  const auto days_reported = [this] { return run(engine().usage(kScope, 2 * kMaxUsageDays))->size(); };
  loop_.manual_clock().advance((kMaxUsageDays - 1) * 24h);
  EXPECT_EQ(days_reported(), 1u);
  loop_.manual_clock().advance(24h);
  EXPECT_EQ(days_reported(), 0u);
}

TEST_F(LimitsTest, RememberedLines) {
  provider_.say("hi");
  outcome(*send("hello"));
  EXPECT_EQ(parts_.knowledge.recall_limit, kMaxRecalledLines);
}

TEST_F(LimitsTest, TheResultOfAClientsTool) {
  provider_.call({{"c1", "weather", "{}"}});
  const auto accepted = run(engine().send(
      {.scope = kScope,
       .channel = "v1",
       .thread_id = {},
       .content = "weather?",
       .client_tools = {{"weather", "gives the weather", json::Value::object({{"type", "object"}})}}}));
  outcome(*accepted);
  provider_.say("long");
  ASSERT_TRUE(run(engine().send({.scope = kScope,
                                 .channel = "v1",
                                 .thread_id = accepted->thread_id,
                                 .content = {},
                                 .client_results = {{.role = llm::Role::kTool,
                                                     .content = std::string(kMaxToolResultBytes + 1, 'x'),
                                                     .tool_call_id = "c1"}}})));
  outcome(*accepted);
  EXPECT_EQ(provider_.requests[1].messages.back().content.size(), kMaxToolResultBytes);
}

TEST_F(LimitsTest, ASteeringPrincipalOnlyNarrowsWhatATurnMayDo) {
  provider_.call({{"a", "asks", "{}"}});
  const auto accepted = send("go");
  const TurnOutcome waiting = outcome(*accepted);
  ASSERT_TRUE(run(engine().send({.scope = kScope,
                                 .channel = "test",
                                 .thread_id = accepted->thread_id,
                                 .content = "and call free",
                                 .permissions = {"chat:*"}})));
  provider_.call({{"b", "free", "{}"}});
  provider_.say("could not");
  ASSERT_TRUE(run(engine().decide(kScope, waiting.approval->request_id, Decision::kApprove, {"*"})));
  EXPECT_EQ(outcome(*accepted).reply, "could not");
  EXPECT_EQ(ask_runs_, 1);  // it was asked for before
  EXPECT_EQ(free_runs_, 0);
  EXPECT_TRUE(provider_.requests.back().messages.back().content.contains("tools:test"));
}

TEST_F(LimitsTest, APermissionIsKeptWithTheTurn) {
  provider_.call({{"a", "free", "{}"}});
  provider_.say("sorry");
  const auto accepted = run(engine().send({.scope = kScope,
                                           .channel = "test",
                                           .thread_id = {},
                                           .content = "call free",
                                           .permissions = {"chat:write"}}));
  EXPECT_EQ(outcome(*accepted).reply, "sorry");
  EXPECT_EQ(free_runs_, 0);
}

}  // namespace
}  // namespace chela::agent
