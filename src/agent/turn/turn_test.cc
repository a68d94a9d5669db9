#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "agent/turn/notes.h"
#include "agent/turn/request.h"
#include "agent/turn/state.h"
#include "agent/turn/transcript.h"
#include "base/limits.h"

namespace chela::agent::turn {
namespace {

TurnStarted started(std::string text = "hello") {
  TurnStarted in;
  in.turn = "t1";
  in.input = text;
  in.content = text;
  in.model = "m";
  in.max_iterations = 5;
  in.context_tokens = 1000;
  return in;
}

ModelAnswered says(std::string text) { return {llm::Answer{.text = std::move(text)}}; }

ModelAnswered calls(std::vector<llm::ToolCall> tool_calls) {
  return {llm::Answer{.tool_calls = std::move(tool_calls), .finish_reason = llm::FinishReason::kToolCalls}};
}

ToolRequested prepared(std::vector<std::string> ids,
                       tools::PreparedCall::Decision decision = tools::PreparedCall::Decision::kRun) {
  ToolRequested in;
  for (std::string& id : ids) in.calls.push_back({.id = id, .name = "echo", .decision = decision});
  return in;
}

ToolFinished result(std::string id, std::string text) {
  return {tools::FinishedCall{.id = std::move(id), .name = "echo", .text = std::move(text)}};
}

// Folds inputs one after the other.
class Turn {
 public:
  template <class I>
  Turn& operator<<(I input) {
    Step step = advance(std::move(state), Input(std::move(input)));
    state = std::move(step.state);
    effects = std::move(step.effects);
    return *this;
  }
  template <class E>
  const E* next() const {
    return effects.empty() ? nullptr : std::get_if<E>(&effects.front());
  }
  State state;
  std::vector<Effect> effects;
};

TEST(Advance, AnAnswerEndsTheTurn) {
  Turn turn;
  turn << started();
  EXPECT_TRUE(turn.next<CallModel>());
  turn << ModelRequested{0, "h"} << says("hi");
  EXPECT_TRUE(turn.next<Finish>());
  EXPECT_EQ(turn.state.reply, "hi");
  turn << TurnFinished{.reply = "hi"};
  EXPECT_EQ(turn.state.phase, Phase::kIdle);
  EXPECT_TRUE(turn.effects.empty());
  EXPECT_EQ(turn.state.conversation.entries().size(), 2u);
}

TEST(Advance, ResultsAreInCallOrderWhateverOrderTheyCame) {
  Turn turn;
  turn << started() << calls({{"a", "echo", "{}"}, {"b", "echo", "{}"}});
  ASSERT_TRUE(turn.next<PrepareCalls>());
  turn << prepared({"a", "b"});
  ASSERT_TRUE(turn.next<RunCalls>());
  EXPECT_EQ(turn.next<RunCalls>()->calls.size(), 2u);
  turn << ToolStarted{"a", "echo"} << ToolStarted{"b", "echo"};
  EXPECT_TRUE(turn.effects.empty());
  turn << result("b", "B") << result("a", "A");
  EXPECT_TRUE(turn.next<CallModel>());
  const auto& entries = turn.state.conversation.entries();
  EXPECT_EQ(entries[2].message.content, "A");
  EXPECT_EQ(entries[3].message.content, "B");
  EXPECT_EQ(entries[3].message.tool_call_id, "b");
}

TEST(Advance, WhatTheProviderWantsBackGoesWithTheCalls) {
  Turn turn;
  ModelAnswered step = calls({{"a", "echo", "{}"}});
  step.answer.provider_data = R"({"anthropic":[]})";
  turn << started() << step << prepared({"a"}) << ToolStarted{"a", "echo"} << result("a", "A");
  ASSERT_TRUE(turn.next<CallModel>());
  const llm::Request request = build_request(turn.state, {.system = "s", .tools = no_tools()});
  EXPECT_EQ(request.messages[2].provider_data, R"({"anthropic":[]})");
  llm::Request without = request;
  without.messages[2].provider_data.clear();
  EXPECT_NE(request_hash(request, "t"), request_hash(without, "t"));
}

TEST(Advance, MissingAndRepeatedCallIdsAreReplaced) {
  Turn turn;
  turn << started() << calls({{"", "echo", "{}"}, {"x", "echo", "{}"}, {"x", "echo", "{}"}});
  const auto& wanted = turn.next<PrepareCalls>()->calls;
  EXPECT_EQ(wanted[0].id, "call_t1_0");
  EXPECT_EQ(wanted[1].id, "x");
  EXPECT_EQ(wanted[2].id, "call_t1_2");
}

TEST(Advance, ApprovalsAreAskedOneByOneAfterTheOthersRan) {
  Turn turn;
  turn << started() << calls({{"a", "echo", "{}"}, {"b", "echo", "{}"}, {"c", "echo", "{}"}});
  ToolRequested in = prepared({"a", "b", "c"});
  in.calls[0].decision = in.calls[2].decision = tools::PreparedCall::Decision::kAsk;
  turn << in;
  ASSERT_TRUE(turn.next<RunCalls>());
  EXPECT_EQ(turn.next<RunCalls>()->calls[0].id, "b");
  turn << ToolStarted{"b", "echo"} << result("b", "B");
  ASSERT_TRUE(turn.next<Ask>());
  turn << Asked{"r1", "a", "echo", "", {}};
  ASSERT_TRUE(turn.next<AwaitAnswer>());
  EXPECT_EQ(pending_approval(turn.state)->request_id, "r1");
  turn << Answered{"r1", Decision::kApprove};
  ASSERT_TRUE(turn.next<RunCalls>());
  turn << ToolStarted{"a", "echo"} << result("a", "A") << Asked{"r2", "c", "echo", "", {}}
       << Answered{"r2", Decision::kDeny};
  ASSERT_TRUE(turn.next<RunCalls>());
  EXPECT_EQ(turn.next<RunCalls>()->calls[0].refusal, kDeniedResult);
  turn << ToolFinished{{.id = "c", .name = "echo", .text = "denied"}, Ending::kDenied};
  EXPECT_TRUE(turn.next<CallModel>());
}

TEST(Advance, ACallWaitsForItsCredentialAndThenGoesOn) {
  Turn turn;
  turn << started("go") << calls({{"a", "echo", "{}"}, {"b", "echo", "{}"}});
  ToolRequested in = prepared({"a", "b"});
  in.calls[1].decision = tools::PreparedCall::Decision::kAsk;
  const std::string before = turn.state.transcript;
  turn << in << ToolStarted{"a", "echo"} << CredentialAsked{"r1", "a", "github", "make one", "", "", 7};
  ASSERT_TRUE(turn.next<AwaitCredential>());
  EXPECT_EQ(turn.next<AwaitCredential>()->expires_at, 7);
  EXPECT_EQ(pending_credential(turn.state)->name, "github");
  EXPECT_NE(turn.state.visible.find("github"), std::string::npos);
  EXPECT_TRUE(unfinished(turn.state).empty());
  turn << CredentialAnswered{"other", "x", CredentialEnd::kStored};
  ASSERT_TRUE(turn.next<AwaitCredential>());
  turn << CredentialAnswered{"r1", "github", CredentialEnd::kStored} << result("a", "credential stored");
  EXPECT_EQ(turn.state.visible, "");
  EXPECT_EQ(turn.state.transcript, before);
  EXPECT_TRUE(turn.next<Ask>());
}

TEST(Advance, ASecondAnswerToAQuestionChangesNothing) {
  Turn turn;
  turn << started() << calls({{"a", "echo", "{}"}}) << prepared({"a"}, tools::PreparedCall::Decision::kAsk)
       << Asked{"r1", "a", "echo", "", {}} << Answered{"r1", Decision::kDeny}
       << Answered{"r1", Decision::kApprove};
  EXPECT_EQ(turn.next<RunCalls>()->calls[0].decision, tools::PreparedCall::Decision::kRefused);
}

TEST(Advance, TheLastStepIsForcedToAnswer) {
  Turn turn;
  turn << started();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(turn.state.final_answer);
    const std::string id = "c" + std::to_string(i);
    turn << calls({{id, "echo", "{}"}}) << prepared({id}) << ToolStarted{id, "echo"} << result(id, id);
  }
  EXPECT_TRUE(turn.state.final_answer);
  EXPECT_EQ(build_request(turn.state, {.tools = make_tool_list({{"echo", "", {}}})}).tool_choice,
            llm::ToolChoice::kNone);
  EXPECT_EQ(turn.state.conversation.entries().back().message.content, kLastStepNote);
  turn << calls({{"z", "echo", "{}"}});
  EXPECT_TRUE(turn.next<Fail>());
}

TEST(Advance, TheSameCallWithTheSameResultEndsTheLoop) {
  Turn turn;
  TurnStarted in = started();
  in.max_iterations = 50;
  turn << in;
  for (int i = 0; i < kMaxRepeatedCalls; ++i) {
    EXPECT_FALSE(turn.state.final_answer);
    const std::string id = "c" + std::to_string(i);
    turn << calls({{id, "echo", R"({"a":1})"}}) << prepared({id}) << ToolStarted{id, "echo"}
         << result(id, "same");
  }
  EXPECT_TRUE(turn.state.final_answer);
  EXPECT_NE(turn.state.conversation.entries().back().message.content.find("echo"), std::string::npos);
}

TEST(Advance, SteeringIsDeliveredBeforeTheNextModelCall) {
  Turn turn;
  turn << started() << ModelRequested{0, "h"} << Steered{"m", "and also this"};
  EXPECT_EQ(turn.state.conversation.entries().size(), 1u);  // the running call has its prompt
  turn << says("first");
  EXPECT_TRUE(turn.next<CallModel>());
  EXPECT_EQ(turn.state.conversation.entries().back().message.content, "and also this");
  turn << says("second");
  EXPECT_TRUE(turn.next<Finish>());
  EXPECT_EQ(turn.state.reply, "second");
  EXPECT_EQ(turn.state.visible, "first\n\nsecond");
}

TEST(Advance, QueuedMessagesOutliveTheTurn) {
  Turn turn;
  turn << started() << Steered{"m2", "later", "t2"} << says("done") << TurnFinished{.reply = "done"};
  ASSERT_EQ(turn.state.queue.size(), 1u);
  TurnStarted next = started("later");
  next.turn = "t2";
  next.message_id = "m2";
  turn << next;
  EXPECT_TRUE(turn.state.queue.empty());
}

TEST(Advance, AnInterruptClosesOpenCalls) {
  Turn turn;
  turn << started() << calls({{"a", "echo", "{}"}}) << prepared({"a"}) << ToolStarted{"a", "echo"}
       << Interrupted{"by the user"};
  EXPECT_EQ(turn.state.phase, Phase::kIdle);
  EXPECT_EQ(turn.state.conversation.entries().back().message.role, llm::Role::kTool);
  turn << result("a", "late");
  EXPECT_EQ(turn.state.conversation.entries().back().message.content, kStoppedResult);
}

TEST(Advance, AnEmptyAnswerFailsTheTurn) {
  Turn turn;
  turn << started() << says("");
  EXPECT_TRUE(turn.next<Fail>());
}

TEST(Advance, ClientToolsAreAwaitedLast) {
  Turn turn;
  TurnStarted in = started();
  in.client_tools = {"theirs"};
  turn << in << calls({{"a", "theirs", "{}"}, {"b", "echo", "{}"}});
  EXPECT_EQ(turn.next<PrepareCalls>()->calls.size(), 1u);
  turn << prepared({"b"}) << ToolStarted{"b", "echo"} << result("b", "B");
  ASSERT_TRUE(turn.next<AwaitClient>());
  EXPECT_EQ(turn.next<AwaitClient>()->calls[0].id, "a");
  turn << ToolFinished{{.id = "a", .name = "theirs", .text = "A"}, Ending::kClient};
  EXPECT_TRUE(turn.next<CallModel>());
}

TEST(Advance, TheTranscriptIsWhatTheClientSaw) {
  Turn turn;
  turn << started("hello") << says("hi") << TurnFinished{.reply = "hi"};
  EXPECT_EQ(turn.state.transcript, transcript_of({{llm::Role::kSystem, "ignored"},
                                                  {llm::Role::kUser, "hello"},
                                                  {llm::Role::kAssistant, "hi"}}));
}

TEST(Advance, AFailedTurnLeavesTheTranscriptAsItWas) {
  Turn turn;
  turn << started("hello") << says("hi") << TurnFinished{.reply = "hi"};
  const std::string before = turn.state.transcript;
  TurnStarted second = started("again");
  second.turn = "t2";
  second.number = 1;
  turn << second << TurnFailed{Error{.code = Code::kUpstream, .message = "x"}};
  EXPECT_EQ(turn.state.transcript, before);
}

TEST(Advance, WhatIsNoAnswerToAQuestionGetsTheQuestionAgain) {
  Turn turn;
  turn << started("go") << calls({{"a", "echo", "{}"}})
       << prepared({"a"}, tools::PreparedCall::Decision::kAsk) << Asked{"r1", "a", "echo", "", {}};
  const std::string question = turn.state.visible;
  turn << Steered{"m", "what for?"};
  EXPECT_EQ(turn.state.visible, question);
  EXPECT_EQ(turn.state.transcript, transcript_of({{llm::Role::kUser, "go"},
                                                  {llm::Role::kAssistant, question},
                                                  {llm::Role::kUser, "what for?"},
                                                  {llm::Role::kAssistant, question}}));
}

TEST(Advance, AQuestionAnsweredElsewhereLeavesNoTraceForWhoWaited) {
  Turn turn;
  ModelAnswered asks = calls({{"a", "echo", "{}"}});
  asks.answer.text = "let me see";
  turn << started("go") << asks << prepared({"a"}, tools::PreparedCall::Decision::kAsk)
       << Asked{"r1", "a", "echo", "", {}} << Answered{"r1", Decision::kApprove} << ToolStarted{"a", "echo"}
       << result("a", "A") << says("done") << TurnFinished{.reply = "done"};
  EXPECT_EQ(turn.state.visible, "let me see\n\ndone");
  EXPECT_EQ(turn.state.transcript,
            transcript_of({{llm::Role::kUser, "go"}, {llm::Role::kAssistant, "let me see\n\ndone"}}));
}

TEST(Advance, TheClientLearnsOfItsCallsAfterTheQuestion) {
  Turn turn;
  TurnStarted in = started("go");
  in.client_tools = {"theirs"};
  turn << in << calls({{"a", "theirs", "{}"}, {"b", "echo", "{}"}})
       << prepared({"b"}, tools::PreparedCall::Decision::kAsk) << Asked{"r1", "b", "echo", "", {}};
  const std::string question = turn.state.visible;
  const std::vector<llm::Message> asked{{llm::Role::kUser, "go"}, {llm::Role::kAssistant, question}};
  EXPECT_EQ(turn.state.transcript, transcript_of(asked));
  turn << Answered{"r1", Decision::kApprove, "yes"} << ToolStarted{"b", "echo"} << result("b", "B");
  ASSERT_TRUE(turn.next<AwaitClient>());
  std::vector<llm::Message> seen = asked;
  seen.push_back({llm::Role::kUser, "yes"});
  seen.push_back({.role = llm::Role::kAssistant, .content = "", .tool_calls = {{"a", "theirs", "{}"}}});
  EXPECT_EQ(turn.state.transcript, transcript_of(seen));
}

TEST(Advance, AReplyThatAHookChangedIsWhatIsShown) {
  Turn turn;
  ModelAnswered first = calls({{"a", "echo", "{}"}});
  first.answer.text = "I look";
  turn << started("go") << first << prepared({"a"}) << ToolStarted{"a", "echo"} << result("a", "A")
       << says("the secret") << TurnFinished{.reply = "[filtered]"};
  EXPECT_EQ(turn.state.visible, "I look\n\n[filtered]");
}

TEST(Advance, AForkDoesNotTakeOverMessagesThatWait) {
  Turn turn;
  turn << started() << Steered{"m2", "later", "t2"} << Forked{"other", 2};
  EXPECT_TRUE(turn.state.queue.empty());
  EXPECT_EQ(turn.state.phase, Phase::kIdle);
}

TEST(Advance, AModelCannotTakeAnIdOfOurs) {
  Turn turn;
  turn << started() << calls({{"call_t1_1", "echo", "{}"}, {"", "echo", "{}"}, {"", "echo", "{}"}});
  const auto& wanted = turn.next<PrepareCalls>()->calls;
  EXPECT_EQ(std::set<std::string>({wanted[0].id, wanted[1].id, wanted[2].id}).size(), 3u);
}

TEST(Compaction, DropsOldTurnsThenShortensResults) {
  Conversation conversation;
  for (int i = 0; i < 10; ++i) {
    conversation.append(i, {.role = llm::Role::kUser, .content = std::string(400, 'u')});
    conversation.append(i, {.role = llm::Role::kAssistant, .content = std::string(400, 'a')});
  }
  const auto plan = plan_compaction(conversation, 9, 500, 0);
  ASSERT_TRUE(plan);
  EXPECT_LT(plan->tokens_after, plan->tokens_before);
  EXPECT_LE(plan->tokens_after, 500);
  const std::int64_t expected = plan->tokens_after;
  conversation.apply(*plan);
  EXPECT_EQ(conversation.tokens(), expected);
  EXPECT_FALSE(conversation.note().empty());
  EXPECT_EQ(conversation.entries().back().turn, 9);
}

TEST(Compaction, CountsWhatGoesBesideTheConversation) {
  Conversation conversation;
  for (int i = 0; i < 4; ++i)
    conversation.append(i, {.role = llm::Role::kUser, .content = std::string(400, 'u')});
  EXPECT_FALSE(plan_compaction(conversation, 3, 500, 0));
  const auto plan = plan_compaction(conversation, 3, 500, 200);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tokens_before, conversation.tokens() + 200);
  EXPECT_LE(plan->tokens_after, 500);
  // Nothing can be dropped from a conversation of one turn, however large the prompt is.
  EXPECT_FALSE(plan_compaction(conversation, 0, 500, 10'000));

  Turn turn;
  TurnStarted in = started(std::string(400, 'x'));
  in.prompt_tokens = 600;
  turn << in << says("hi") << TurnFinished{.reply = "hi"};
  in.turn = "t2";
  in.number = 1;
  turn << in;  // 1,000 tokens of context: the prompt and two such messages are more than 80 % of them
  ASSERT_TRUE(turn.next<Compact>());
  EXPECT_GT(turn.next<Compact>()->plan.tokens_before, 800);
}

TEST(Compaction, AClientsHistoryLeavesANote) {
  Conversation conversation;
  for (int i = 0; i < 10; ++i)
    conversation.append(kClientHistory, {.role = llm::Role::kUser, .content = std::string(400, 'u')});
  conversation.append(0, {.role = llm::Role::kUser, .content = "hello"});
  conversation.append(1, {.role = llm::Role::kUser, .content = "hello"});
  EXPECT_TRUE(conversation.note().empty());
  const auto plan = plan_compaction(conversation, 1, 100, 0);
  ASSERT_TRUE(plan);
  conversation.apply(*plan);
  EXPECT_EQ(conversation.entries().size(), 2u);
  EXPECT_NE(conversation.note().find("beginning"), std::string::npos);
  conversation.apply({.drop_below = 11});
  EXPECT_NE(conversation.note().find("first 1 turns"), std::string::npos);
}

TEST(Compaction, IsCheckedInsideToolLoops) {
  Turn turn;
  TurnStarted in = started();
  in.max_iterations = 50;
  turn << in;
  for (int i = 0; i < 8 && turn.next<Compact>() == nullptr; ++i) {
    const std::string id = "c" + std::to_string(i);
    turn << calls({{id, "echo", std::to_string(i)}}) << prepared({id}) << ToolStarted{id, "echo"}
         << result(id, std::string(800, 'r'));
  }
  ASSERT_TRUE(turn.next<Compact>());
  const CompactionPlan plan = turn.next<Compact>()->plan;
  EXPECT_LT(plan.tokens_after, plan.tokens_before);
  turn << Compacted{plan};
  EXPECT_TRUE(turn.next<CallModel>());
  EXPECT_EQ(turn.state.conversation.tokens(), plan.tokens_after);
}

// A replay sees each difference between two requests.
TEST(Request, ItsHashCoversEveryParameter) {
  TurnStarted plain = started();
  const Sources sources{.system = "s",
                        .tools = make_tool_list({{"f", "d", json::Value::object({{"type", "object"}})}})};
  const auto hash_of = [&sources](TurnStarted in) {
    Turn turn;
    turn << std::move(in);
    return request_hash(build_request(turn.state, sources), sources.tools->hash);
  };
  std::vector<llm::Sampling> wishes(10);
  wishes[0].temperature = 0.5;
  wishes[1].top_p = 0.5;
  wishes[2].presence_penalty = 0.5;
  wishes[3].frequency_penalty = 0.5;
  wishes[4].max_tokens = 5;
  wishes[5].seed = 5;
  wishes[6].stop = {"x"};
  wishes[7].response_format = json::Value::object({{"type", "json_object"}});
  wishes[8].reasoning_effort = "low";
  wishes[9].parallel_tool_calls = false;
  std::set<std::string> hashes{hash_of(plain)};
  for (const llm::Sampling& each : wishes) {
    TurnStarted in = plain;
    in.sampling = each;
    EXPECT_TRUE(hashes.insert(hash_of(in)).second) << hashes.size();
  }
  TurnStarted forced = plain;
  forced.tool_choice = llm::ToolChoice::kRequired;
  EXPECT_TRUE(hashes.insert(hash_of(forced)).second);
  forced.tool_choice_name = "f";
  EXPECT_TRUE(hashes.insert(hash_of(forced)).second);
}

// Any sequence of inputs keeps the conversation well-formed: every announced call has exactly one result before the next model call.
TEST(Advance, ArbitraryInputsKeepTheConversationWellFormed) {
  EXPECT_TRUE(rc::check([] {
    Turn turn;
    const int length = *rc::gen::inRange(1, 60);
    for (int i = 0; i < length; ++i) {
      const std::string id = std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, 3)));
      switch (*rc::gen::inRange(0, 11)) {
        case 0:
          turn << started();
          break;
        case 1:
          turn << ModelRequested{0, "h"};
          break;
        case 2:
          turn << says("text");
          break;
        case 3:
          turn << calls({{"a", "echo", "{}"}, {"b", "echo", "{}"}});
          break;
        case 4:
          turn << prepared({"a", "b"}, *rc::gen::element(tools::PreparedCall::Decision::kRun,
                                                         tools::PreparedCall::Decision::kAsk));
          break;
        case 5:
          turn << ToolStarted{id, "echo"};
          break;
        case 6:
          turn << result(id, "r");
          break;
        case 7:
          turn << Asked{"r" + id, id, "echo", "", {}};
          break;
        case 8:
          turn << Answered{"r" + id, Decision::kApprove};
          break;
        case 9:
          turn << Steered{"m", "s"};
          break;
        default:
          turn << Interrupted{"x"};
          break;
      }
      if (turn.next<CallModel>() == nullptr) continue;
      size_t open = 0;
      for (const Entry& entry : turn.state.conversation.entries()) {
        if (entry.message.role == llm::Role::kTool) {
          RC_ASSERT(open > 0u);
          --open;
        } else {
          RC_ASSERT(open == 0u);
          open = entry.message.tool_calls.size();
        }
      }
      RC_ASSERT(open == 0u);
    }
  }));
}

}  // namespace
}  // namespace chela::agent::turn
