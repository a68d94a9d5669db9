#include "agent/engine_test_fixture.h"

namespace chela::agent {
namespace {

const std::vector<llm::ToolSpec> kWeather{
    {"weather", "gives the weather", json::Value::object({{"type", "object"}})}};

class ClientTest : public EngineTest {
 protected:
  static llm::Message result(std::string call_id, std::string text) {
    return {.role = llm::Role::kTool, .content = std::move(text), .tool_call_id = std::move(call_id)};
  }
  // A message of a /v1 client that offers the tool `weather`.
  Inbound inbound(std::string content, std::string thread = {}) {
    return {.scope = kScope,
            .channel = "v1",
            .thread_id = std::move(thread),
            .content = std::move(content),
            .permissions = {"*"},
            .client_tools = kWeather};
  }
  Result<Accepted> take(Inbound message) { return run(engine().send(std::move(message))); }
  Result<Accepted> bring(std::vector<llm::Message> results, std::string thread = {}) {
    return bring(std::move(results), std::move(thread), kScope);
  }
  Result<Accepted> bring(std::vector<llm::Message> results, std::string thread, Scope scope) {
    Inbound message = inbound("", std::move(thread));
    message.scope = std::move(scope);
    message.client_results = std::move(results);
    return take(std::move(message));
  }
  void expect_replay(const std::string& thread) {
    const auto report = run(engine().replay(kScope, thread, 0));
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->differences.empty()) << report->differences.front();
  }
  // Kinds of the thread's records.
  std::vector<std::string> kinds(const std::string& thread) {
    const auto log = run(engine().log(kScope, thread, 0, 1000));
    std::vector<std::string> out;
    for (const json::Value& record : *log->find("records")->as_array())
      out.push_back(record.string_or("kind"));
    return out;
  }
};

TEST_F(ClientTest, AClientsToolsGoOutAndTheirResultsComeIn) {
  provider_.call({{"c1", "weather", R"({"city":"Rome"})"}});
  provider_.say("sunny");
  const auto accepted = run(engine().send(
      {.scope = kScope,
       .channel = "v1",
       .thread_id = {},
       .content = "weather?",
       .client_tools = {{"weather", "gives the weather", json::Value::object({{"type", "object"}})}}}));
  ASSERT_TRUE(accepted);
  const TurnOutcome waiting = outcome(*accepted);
  ASSERT_EQ(waiting.state, TurnState::kAwaitingClient);
  ASSERT_EQ(waiting.client_calls.size(), 1u);
  EXPECT_EQ(run(engine().history(kScope, accepted->thread_id, 10, {}))->turns[0].state,
            TurnState::kAwaitingClient);
  restart();
  const Scope other{"default", "u2", ""};
  const std::vector<llm::Message> results{{.role = llm::Role::kTool, .content = "sun", .tool_call_id = "c1"}};
  EXPECT_EQ(bring(results, "", other).error().code, Code::kNotFound);
  const auto submitted = bring(results);
  ASSERT_TRUE(submitted) << submitted.error().message;
  EXPECT_EQ(outcome(*submitted).reply, "sunny");
  EXPECT_EQ(provider_.requests[1].messages.back().content, "sun");
}

TEST_F(ClientTest, CallIdsMayRepeatInOtherThreads) {
  const auto ask = [&](std::string content) {
    provider_.call({{"c1", "weather", "{}"}});
    const auto accepted = run(engine().send(
        {.scope = kScope,
         .channel = "v1",
         .thread_id = {},
         .external_thread = content,
         .content = content,
         .client_tools = {{"weather", "gives the weather", json::Value::object({{"type", "object"}})}}}));
    EXPECT_EQ(outcome(*accepted).state, TurnState::kAwaitingClient);
    return *accepted;
  };
  const Accepted first = ask("one");
  const Accepted second = ask("two");
  provider_.say("first");
  provider_.say("second");
  const std::vector<llm::Message> results{{.role = llm::Role::kTool, .content = "sun", .tool_call_id = "c1"}};
  ASSERT_TRUE(bring(results, first.thread_id));
  EXPECT_EQ(outcome(first).reply, "first");
  ASSERT_TRUE(bring(results));
  EXPECT_EQ(outcome(second).reply, "second");
  EXPECT_EQ(bring(results, first.thread_id).error().code, Code::kNotFound);
}

TEST_F(ClientTest, AConversationIsFoundByItsTranscript) {
  provider_.say("hi");
  const auto accepted =
      run(engine().send({.scope = kScope, .channel = "v1", .thread_id = {}, .content = "hello"}));
  outcome(*accepted);
  const std::vector<llm::Message> seen{
      {llm::Role::kSystem, "whatever"}, {llm::Role::kUser, "hello"}, {llm::Role::kAssistant, "hi"}};
  EXPECT_EQ(run(engine().find_transcript(kScope, seen)).value(), accepted->thread_id);
  EXPECT_EQ(run(engine().find_transcript({"default", "u2", ""}, seen)).value(), std::nullopt);
}

TEST_F(ClientTest, AnAgentGoesOnWithItsOwnConversationsOnly) {
  parts_.agents = {{.name = "writer"}};
  restart();
  const Scope writer{"default", "u1", "writer"};
  const auto say_hello = [&](const Scope& scope) {
    provider_.say("hi");
    Inbound message = inbound("hello");
    message.scope = scope;
    message.external_thread = "c";
    const auto accepted = take(std::move(message));
    outcome(*accepted);
    return *accepted;
  };
  const Accepted ours = say_hello(kScope);
  const std::vector<llm::Message> seen{{llm::Role::kUser, "hello"}, {llm::Role::kAssistant, "hi"}};
  EXPECT_EQ(run(engine().find_transcript(kScope, seen)).value(), ours.thread_id);
  EXPECT_EQ(run(engine().find_transcript(writer, seen)).value(), std::nullopt);
  const Accepted theirs = say_hello(writer);
  EXPECT_EQ(run(engine().find_transcript(kScope, seen)).value(), ours.thread_id);
  EXPECT_EQ(run(engine().find_transcript(writer, seen)).value(), theirs.thread_id);

  Inbound message = inbound("more", ours.thread_id);
  message.scope = writer;
  message.reach = Inbound::Reach::kThreadsOfAgent;
  EXPECT_EQ(take(message).error().code, Code::kNotFound);
  // Other channels name the thread alone.
  message.reach = Inbound::Reach::kThreadsOfUser;
  provider_.say("yes");
  EXPECT_TRUE(take(message));
}

TEST_F(ClientTest, ResultsOfAnotherAgentsCallsAreNoResults) {
  parts_.agents = {{.name = "writer"}};
  restart();
  provider_.call({{"c1", "weather", "{}"}});
  outcome(*take(inbound("weather?")));
  Inbound message = inbound("");
  message.scope.agent = "writer";
  message.client_results = {result("c1", "sun")};
  message.reach = Inbound::Reach::kThreadsOfAgent;
  EXPECT_EQ(take(message).error().code, Code::kNotFound);
}

TEST_F(ClientTest, ARepeatedKeyGetsTheOutcomeOfATurnOfLongAgo) {
  const auto keyed = [this](std::string content, std::string key) {
    Inbound message = inbound(std::move(content));
    message.idempotency_key = std::move(key);
    const auto accepted = take(std::move(message));
    EXPECT_TRUE(accepted) << accepted.error().message;
    return outcome(*accepted);
  };
  provider_.say("fine");
  const TurnOutcome good = keyed("one", "k1");
  provider_.add({fail(Code::kUpstream, "no")});
  keyed("two", "k2");
  provider_.add({.answer = llm::Answer{}, .stall = true});
  Inbound hanging = inbound("three");
  hanging.idempotency_key = "k3";
  const auto hung = take(hanging);
  until_requests(3);
  ASSERT_TRUE(run(engine().interrupt(kScope, hung->thread_id)));
  restart({.max_known_outcomes = 1});
  for (int i = 0; i < 2; ++i) {
    const TurnOutcome again = keyed("one", "k1");
    EXPECT_EQ(again.state, TurnState::kCompleted);
    EXPECT_EQ(again.reply, "fine");
    EXPECT_EQ(again.visible, "fine");
    EXPECT_EQ(again.model, good.model);
    EXPECT_EQ(again.usage.output_tokens, good.usage.output_tokens);
    const TurnOutcome failed = keyed("two", "k2");
    EXPECT_EQ(failed.state, TurnState::kFailed);
    ASSERT_TRUE(failed.error);
    EXPECT_EQ(failed.error->code, Code::kUpstream);
    EXPECT_EQ(keyed("three", "k3").state, TurnState::kInterrupted);
  }
  EXPECT_EQ(provider_.requests.size(), 3u);
}

TEST_F(ClientTest, ResultsAndAMessageAreOneStep) {
  provider_.call({{"c1", "weather", "{}"}});
  const auto accepted = take(inbound("weather?"));
  outcome(*accepted);
  provider_.say("sunny, and quick");
  Inbound message = inbound("be quick");
  message.client_results = {result("c1", "sun")};
  message.idempotency_key = "key";
  const auto joined = take(message);
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(joined->turn_id, accepted->turn_id);
  EXPECT_EQ(outcome(*joined).visible, "sunny, and quick");
  const auto& sent = provider_.requests[1].messages;
  EXPECT_EQ(sent[sent.size() - 2].content, "sun");
  EXPECT_EQ(sent.back().content, "be quick");
  // The client goes on from what it has seen.
  const std::vector<llm::Message> seen{
      {llm::Role::kUser, "weather?"},
      {.role = llm::Role::kAssistant, .content = "", .tool_calls = {{"c1", "weather", "{}"}}},
      result("c1", "sun"),
      {llm::Role::kUser, "be quick"},
      {llm::Role::kAssistant, "sunny, and quick"}};
  EXPECT_EQ(run(engine().find_transcript(kScope, seen)).value(), accepted->thread_id);
  const std::vector<std::string> log = kinds(accepted->thread_id);
  const auto finished = std::find(log.begin(), log.end(), "ToolFinished");
  ASSERT_NE(finished, log.end());
  EXPECT_EQ(*(finished + 1), "Steered");
  expect_replay(accepted->thread_id);
  // The same request again is no second step, also after a restart.
  restart();
  const auto again = take(message);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(again->turn_id, accepted->turn_id);
  EXPECT_EQ(provider_.requests.size(), 2u);
}

TEST_F(ClientTest, ResultsThatNobodyWaitsForLeaveTheirMessageOutToo) {
  provider_.call({{"c1", "weather", "{}"}});
  const auto accepted = take(inbound("weather?"));
  outcome(*accepted);
  const std::vector<std::string> before = kinds(accepted->thread_id);
  Inbound message = inbound("be quick");
  message.client_results = {result("unknown", "sun")};
  EXPECT_EQ(take(message).error().code, Code::kNotFound);
  message.thread_id = accepted->thread_id;
  EXPECT_EQ(take(message).error().code, Code::kNotFound);
  EXPECT_EQ(kinds(accepted->thread_id), before);
}

TEST_F(ClientTest, AMessageWaitsForTheResultsThatAreMissing) {
  provider_.call({{"c1", "weather", "{}"}, {"c2", "weather", "{}"}});
  const auto accepted = take(inbound("weather?"));
  outcome(*accepted);
  provider_.say("done");
  Inbound message = inbound("be quick");
  message.client_results = {result("c1", "sun"), result("c1", "again")};
  ASSERT_TRUE(take(message));
  EXPECT_EQ(outcome(*accepted).client_calls.size(), 1u);
  ASSERT_TRUE(bring({result("c2", "rain")}));
  EXPECT_EQ(outcome(*accepted).reply, "done");
  EXPECT_EQ(provider_.requests[1].messages.back().content, "be quick");
  expect_replay(accepted->thread_id);
}

// Two clients hold the same conversation and go on with it at the same time.
TEST_F(ClientTest, OfTwoThatContinueOneConversationTheSecondIsTurnedAway) {
  provider_.say("hi");
  const auto first = take(inbound("hello"));
  outcome(*first);
  provider_.say("more");
  Inbound next = inbound("go on", first->thread_id);
  next.continues = {{llm::Role::kUser, "hello"}, {llm::Role::kAssistant, "hi"}};
  std::vector<Task<Result<Accepted>>> both;
  both.push_back(engine().send(next));
  both.push_back(engine().send(next));
  const std::vector<Result<Accepted>> taken = run(runtime::gather(loop_, std::move(both)));
  ASSERT_TRUE(taken[0]) << taken[0].error().message;
  ASSERT_FALSE(taken[1]);
  EXPECT_EQ(taken[1].error().code, Code::kConflict);
  EXPECT_EQ(taken[1].error().detail("reason"), kMovedOn);
  EXPECT_EQ(outcome(*taken[0]).reply, "more");
  EXPECT_EQ(provider_.requests.size(), 2u);
}

TEST_F(ClientTest, AQuestionIsAnsweredByTheFirstOfTwo) {
  provider_.call({{"a", "asks", "{}"}});
  const auto first = take(inbound("go"));
  const TurnOutcome asked = outcome(*first);
  ASSERT_EQ(asked.state, TurnState::kAwaitingApproval);
  provider_.say("did it");
  Inbound yes = inbound("yes", first->thread_id);
  yes.continues = {{llm::Role::kUser, "go"}, {llm::Role::kAssistant, asked.visible}};
  std::vector<Task<Result<Accepted>>> both;
  both.push_back(engine().send(yes));
  both.push_back(engine().send(yes));
  const std::vector<Result<Accepted>> taken = run(runtime::gather(loop_, std::move(both)));
  ASSERT_TRUE(taken[0]) << taken[0].error().message;
  EXPECT_EQ(taken[1].error().detail("reason"), kMovedOn);
  EXPECT_EQ(outcome(*first).reply, "did it");
  EXPECT_EQ(ask_runs_, 1);
}

TEST_F(ClientTest, ParametersReachTheModelAndTheReplay) {
  provider_.call({{"a", "free", "{}"}});
  provider_.say("done");
  Inbound message = inbound("go");
  message.sampling = {.temperature = 0.5,
                      .top_p = 0.25,
                      .presence_penalty = 1.0,
                      .frequency_penalty = -1.0,
                      .max_tokens = 9,
                      .seed = 3,
                      .stop = {"END"},
                      .response_format = json::Value::object({{"type", "json_object"}}),
                      .reasoning_effort = "low",
                      .parallel_tool_calls = false};
  message.tool_choice = llm::ToolChoice::kRequired;
  const auto accepted = take(message);
  EXPECT_EQ(outcome(*accepted).reply, "done");
  for (const llm::Request& request : provider_.requests) EXPECT_EQ(request.sampling, message.sampling);
  EXPECT_EQ(provider_.requests.at(0).tool_choice, llm::ToolChoice::kRequired);
  EXPECT_EQ(provider_.requests.at(1).tool_choice, llm::ToolChoice::kAuto);
  restart();
  expect_replay(accepted->thread_id);
}

TEST_F(ClientTest, ANamedToolIsForcedOnce) {
  provider_.call({{"c1", "weather", "{}"}});
  provider_.say("done");
  Inbound message = inbound("go");
  message.tool_choice_name = "weather";
  const auto accepted = take(message);
  outcome(*accepted);
  ASSERT_TRUE(bring({result("c1", "sun")}));
  EXPECT_EQ(outcome(*accepted).reply, "done");
  EXPECT_EQ(provider_.requests.at(0).tool_choice_name, "weather");
  EXPECT_EQ(provider_.requests.at(1).tool_choice_name, "");
  expect_replay(accepted->thread_id);
  message.tool_choice_name = "nothing of the kind";
  const auto refused = take(message);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().detail("param"), "tool_choice");
}

// A model that calls a tool although it was told not to is not obeyed.
TEST_F(ClientTest, NoToolsMeansNone) {
  provider_.add({llm::Answer{.text = "just text",
                             .tool_calls = {{"a", "free", "{}"}},
                             .finish_reason = llm::FinishReason::kToolCalls}});
  Inbound message = inbound("go");
  message.tool_choice = llm::ToolChoice::kNone;
  const auto accepted = take(message);
  EXPECT_EQ(outcome(*accepted).reply, "just text");
  EXPECT_EQ(outcome(*accepted).finish_reason, llm::FinishReason::kStop);
  EXPECT_EQ(free_runs_, 0);
  EXPECT_EQ(provider_.requests.at(0).tool_choice, llm::ToolChoice::kNone);
  EXPECT_FALSE(provider_.requests.at(0).tools.empty());
  expect_replay(accepted->thread_id);
}

// A message that waits for its own turn keeps what its client asked for, also over a restart.
TEST_F(ClientTest, AQueuedMessageKeepsItsTerms) {
  restart({.busy = WhenBusy::kQueue});
  provider_.call({{"a", "asks", "{}"}});
  const auto first = run(engine().send(
      {.scope = kScope, .channel = "v1", .thread_id = {}, .content = "one", .permissions = {"*"}}));
  const TurnOutcome asked = outcome(*first);
  Inbound message = inbound("two", first->thread_id);
  message.client_system = "like a pirate";
  message.sampling = {.top_p = 0.5, .stop = {"END"}};
  message.tool_choice_name = "weather";
  const auto second = take(message);
  ASSERT_TRUE(second);
  EXPECT_NE(second->turn_id, first->turn_id);
  restart({.busy = WhenBusy::kQueue});
  provider_.say("one done");
  provider_.call({{"c1", "weather", "{}"}});
  ASSERT_TRUE(run(engine().decide(kScope, asked.approval->request_id, Decision::kApprove, {"*"})));
  EXPECT_EQ(outcome(*second).state, TurnState::kAwaitingClient);
  const llm::Request& request = provider_.requests.back();
  EXPECT_EQ(request.sampling, message.sampling);
  EXPECT_EQ(request.tool_choice_name, "weather");
  EXPECT_TRUE(request.messages.front().content.ends_with("like a pirate"));
  EXPECT_EQ(provider_.requests.at(1).sampling, llm::Sampling{});
  expect_replay(first->thread_id);
}

}  // namespace
}  // namespace chela::agent
