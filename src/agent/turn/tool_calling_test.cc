#include <gtest/gtest.h>

#include "agent/turn/limits.h"
#include "agent/turn/notes.h"
#include "agent/turn/request.h"
#include "agent/turn/state.h"

// Answers whose calls were none, and tools that are told of in the prompt.
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

ModelAnswered refused(dialects::Refused why, std::string text = {}) {
  ModelAnswered in = says(std::move(text));
  in.refused = why;
  return in;
}

TEST(Refused, TheModelIsToldAndGoesOn) {
  Turn turn;
  turn << started() << ModelRequested{0, "h"} << refused(dialects::Refused::kCut, "I look.");
  ASSERT_TRUE(turn.next<CallModel>());
  const auto& entries = turn.state.conversation.entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[1].message.content, "I look.");
  EXPECT_EQ(entries[2].message.role, llm::Role::kSystem);
  EXPECT_EQ(entries[2].message.content, kCutCallNote);
  turn << refused(dialects::Refused::kUnreadable);
  EXPECT_EQ(entries.back().message.content, kUnreadableCallNote);
  turn << says("done");
  EXPECT_TRUE(turn.next<Finish>());
  EXPECT_EQ(turn.state.visible, "I look.\n\ndone");
}

TEST(Refused, AModelThatGoesOnLikeThatIsTakenAtItsWord) {
  Turn turn;
  TurnStarted start = started();
  start.max_iterations = 50;
  turn << start;
  for (int i = 0; i < kMaxRefusedAnswers; ++i) {
    turn << refused(dialects::Refused::kUnreadable, "so");
    ASSERT_TRUE(turn.next<CallModel>());
  }
  turn << refused(dialects::Refused::kUnreadable, "so");
  EXPECT_TRUE(turn.next<Finish>());
  // The next turn begins to count anew.
  turn << TurnFinished{.reply = "so"} << started() << refused(dialects::Refused::kUnreadable);
  EXPECT_TRUE(turn.next<CallModel>());
}

TEST(Refused, WithoutToolsTheTextIsTheAnswer) {
  Turn turn;
  TurnStarted start = started();
  start.tool_choice = llm::ToolChoice::kNone;
  turn << start << refused(dialects::Refused::kCut, "so far");
  EXPECT_TRUE(turn.next<Finish>());
}

TEST(Prompted, TheRequestIsTextAndEachBeginsWithTheOneBefore) {
  const Sources sources{.system = "S", .system_hash = "s", .tools = make_tool_list({{"echo", "E", {}}})};
  Turn turn;
  TurnStarted start = started();
  start.tool_calling = llm::ToolCalling::kPrompted;
  start.sampling.parallel_tool_calls = true;
  turn << start;
  const llm::Request first = build_request(turn.state, sources);
  EXPECT_TRUE(first.tools.empty());
  EXPECT_FALSE(first.sampling.parallel_tool_calls);
  ASSERT_EQ(first.messages.size(), 2u);
  turn << calls({{"a", "echo", R"({"n":1})"}, {"b", "echo", "{}"}}) << prepared({"a", "b"})
       << ToolStarted{"a", "echo"} << ToolStarted{"b", "echo"} << result("b", "two");
  ToolFinished failed = result("a", "one");
  failed.call.is_error = true;
  turn << failed;
  const llm::Request second = build_request(turn.state, sources);
  ASSERT_EQ(second.messages.size(), 4u);
  EXPECT_TRUE(std::equal(first.messages.begin(), first.messages.end(), second.messages.begin()));
  EXPECT_EQ(second.messages[2].content,
            "\u25C1\n{\"name\": \"echo\", \"arguments\": {\"n\":1}}\n\u25B7\n\u25C1\n{\"name\": \"echo\", "
            "\"arguments\": {}}\n\u25B7");
  EXPECT_EQ(second.messages[3].role, llm::Role::kUser);
  EXPECT_EQ(second.messages[3].content,
            "[Tool results]\n<tool_result name=\"echo\" status=\"error\">\none\n</tool_result>\n"
            "<tool_result name=\"echo\" status=\"ok\">\ntwo\n</tool_result>\n");
  // The log keeps what was called; another way of calling shows it again in its own form.
  turn.state.start.tool_calling = llm::ToolCalling::kNative;
  const llm::Request native = build_request(turn.state, sources);
  EXPECT_EQ(native.messages[2].tool_calls.size(), 2u);
  EXPECT_EQ(native.messages[4].role, llm::Role::kTool);
  EXPECT_EQ(native.tools.size(), 1u);
}

TEST(Prompted, AChoiceIsSaidForTheCallItIsFor) {
  const Sources sources{.system = "S", .system_hash = "s", .tools = make_tool_list({{"echo", "E", {}}})};
  const auto last_of = [&sources](TurnStarted start, bool answered) {
    start.tool_calling = llm::ToolCalling::kPrompted;
    Turn turn;
    turn << start;
    if (answered)
      turn << calls({{"a", "echo", "{}"}}) << prepared({"a"}) << ToolStarted{"a", "echo"}
           << result("a", "one");
    return build_request(turn.state, sources).messages.back().content;
  };
  TurnStarted start = started();
  start.tool_choice = llm::ToolChoice::kRequired;
  EXPECT_EQ(last_of(start, false), "Answer with a call of a tool.");
  EXPECT_TRUE(last_of(start, true).starts_with("[Tool results]"));
  start.tool_choice = llm::ToolChoice::kNone;
  EXPECT_EQ(last_of(start, false), "Answer in plain text, without calling tools.");
  start = started();
  start.max_iterations = 1;
  EXPECT_EQ(last_of(start, false), kLastStepNote);
}

}  // namespace
}  // namespace chela::agent::turn
