#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "agent/turn/records.h"
#include "agent/turn/state.h"
#include "agent/turn/transcript.h"
#include "base/limits.h"

// Undo, redo, clear and summaries as the state machine sees them.
namespace chela::agent::turn {
namespace {

class Thread {
 public:
  template <class I>
  Thread& operator<<(I input) {
    log.emplace_back(input);
    state = advance(std::move(state), Input(std::move(input))).state;
    return *this;
  }
  // A whole turn.
  Thread& say(const std::string& text) {
    TurnStarted in;
    in.turn = "t" + std::to_string(++count_);
    in.number = state.turns;
    in.message_id = "m" + std::to_string(count_);
    in.input = in.content = text;
    in.max_iterations = 5;
    *this << in << ModelRequested{} << ModelAnswered{llm::Answer{.text = "re: " + text}};
    return *this << TurnFinished{.reply = "re: " + text};
  }
  Thread& undo() { return *this << Undone{state.undo.back().turn, state.undo.back().number}; }
  Thread& redo() {
    const Checkpoint& next = state.redo.back().checkpoint;
    return *this << Redone{next.turn, next.number};
  }
  std::string texts() const {
    std::string out;
    for (const Entry& entry : state.conversation.entries()) out += entry.message.content + "|";
    return out;
  }
  std::int64_t counted_tokens() const {
    std::int64_t tokens = 0;
    for (const Entry& entry : state.conversation.entries()) tokens += estimate_tokens(entry.message);
    return tokens;
  }

  State state;
  std::vector<Input> log;

 private:
  int count_ = 0;
};

TEST(Undo, TakesTheLastTurnBackAndRedoPutsItThere) {
  Thread thread;
  thread.say("one");
  const std::string transcript = thread.state.transcript;
  thread.say("two").undo();
  EXPECT_EQ(thread.texts(), "one|re: one|");
  EXPECT_EQ(thread.state.transcript, transcript);
  EXPECT_EQ(thread.state.turns, 1);
  EXPECT_EQ(thread.state.conversation.tokens(), thread.counted_tokens());
  thread.redo();
  EXPECT_EQ(thread.texts(), "one|re: one|two|re: two|");
  EXPECT_EQ(thread.state.transcript, transcript_of({{llm::Role::kUser, "one"},
                                                    {llm::Role::kAssistant, "re: one"},
                                                    {llm::Role::kUser, "two"},
                                                    {llm::Role::kAssistant, "re: two"}}));
  EXPECT_EQ(thread.state.turns, 2);
  EXPECT_EQ(thread.state.conversation.tokens(), thread.counted_tokens());
  thread.undo().undo();
  EXPECT_EQ(thread.texts(), "");
  EXPECT_EQ(thread.state.conversation.tokens(), 0);
  thread.redo().redo();
  EXPECT_EQ(thread.texts(), "one|re: one|two|re: two|");
}

TEST(Undo, ANewTurnEndsRedo) {
  Thread thread;
  thread.say("one").say("two").undo().say("three");
  EXPECT_TRUE(thread.state.redo.empty());
  EXPECT_EQ(thread.texts(), "one|re: one|three|re: three|");
  EXPECT_EQ(thread.state.turns, 2);
}

TEST(Undo, ReachesTwentyTurnsBack) {
  Thread thread;
  for (size_t i = 0; i < kMaxUndo + 5; ++i) thread.say(std::to_string(i));
  EXPECT_EQ(thread.state.undo.size(), kMaxUndo);
  while (!thread.state.undo.empty()) thread.undo();
  EXPECT_EQ(thread.texts(), "0|re: 0|1|re: 1|2|re: 2|3|re: 3|4|re: 4|");
  EXPECT_EQ(thread.state.redo.size(), kMaxUndo);
  thread << Undone{"t1", 0};
  EXPECT_EQ(thread.state.turns, 5);
}

TEST(Undo, OnlyTheLastTurnAndNotWhileOneRuns) {
  Thread thread;
  thread.say("one").say("two") << Undone{"t1", 0};
  EXPECT_EQ(thread.state.turns, 2);
  TurnStarted in;
  in.turn = "t9";
  in.number = 2;
  in.input = in.content = "nine";
  in.max_iterations = 5;
  thread << in << Undone{"t9", 2} << Cleared{} << Redone{"t2", 1};
  EXPECT_EQ(thread.state.phase, Phase::kModel);
  EXPECT_EQ(thread.state.conversation.entries().size(), 5u);
}

TEST(Undo, AnInterruptedTurnCanBeTakenBack) {
  Thread thread;
  thread.say("one");
  TurnStarted in;
  in.turn = "t9";
  in.number = 1;
  in.input = in.content = "nine";
  thread << in << Steered{"m", "and this", ""} << Interrupted{"by the user"};
  EXPECT_EQ(thread.state.undo.back().input, "nine\n\nand this");
  thread.undo();
  EXPECT_EQ(thread.texts(), "one|re: one|");
}

TEST(Undo, ClearForgetsTheConversationAndWhatCouldBeUndone) {
  Thread thread;
  thread.say("one").say("two").undo() << Cleared{1};
  EXPECT_EQ(thread.texts(), "");
  EXPECT_TRUE(thread.state.undo.empty() && thread.state.redo.empty());
  EXPECT_EQ(thread.state.transcript, "");
  EXPECT_EQ(thread.state.turns, 0);
  thread.say("again");
  EXPECT_EQ(thread.texts(), "again|re: again|");
}

TEST(Undo, WhatWasCompactedStaysOut) {
  Thread thread;
  thread.say("one").say("two").say("three");
  const auto plan = plan_compaction(thread.state.conversation, 2, 0, 0);
  ASSERT_TRUE(plan);
  thread << Compacted{*plan};
  EXPECT_EQ(thread.texts(), "three|re: three|");
  thread.undo().undo();
  EXPECT_EQ(thread.texts(), "");
  EXPECT_EQ(thread.state.turns, 1);
  EXPECT_NE(thread.state.conversation.note().find("first 1 turns"), std::string::npos);
  thread.redo().redo();
  EXPECT_EQ(thread.texts(), "three|re: three|");
  EXPECT_NE(thread.state.conversation.note().find("first 2 turns"), std::string::npos);
}

TEST(Undo, ASummaryStandsForTurnsThatCannotBeTakenBackAnyMore) {
  Thread thread;
  for (const char* text : {"one", "two", "three"}) thread.say(text + std::string(400, '.'));
  CompactionPlan plan{
      .drop_below = 4, .tokens_before = thread.state.conversation.tokens(), .summary = "they counted"};
  thread << Compacted{.plan = plan};
  EXPECT_EQ(thread.state.conversation.tokens(), thread.counted_tokens() + estimate_tokens("they counted"));
  EXPECT_LT(thread.state.conversation.tokens(), plan.tokens_before);
  EXPECT_NE(thread.state.conversation.note().find("they counted"), std::string::npos);
  ASSERT_EQ(thread.state.undo.size(), 1u);
  thread.undo();
  EXPECT_NE(thread.state.conversation.note().find("they counted"), std::string::npos);
  thread << Cleared{};
  EXPECT_EQ(thread.state.conversation.note(), "");
  EXPECT_EQ(thread.state.conversation.tokens(), 0);
}

// Any sequence leaves the conversation, its size and its numbers in agreement, and its log folds to the same state.
TEST(Undo, ArbitrarySequencesAgreeWithTheirLog) {
  EXPECT_TRUE(rc::check([] {
    Thread thread;
    const int length = *rc::gen::inRange(1, 60);
    for (int i = 0; i < length; ++i) {
      switch (*rc::gen::inRange(0, 7)) {
        case 0:
        case 1:
          if (!thread.state.undo.empty()) thread.undo();
          break;
        case 2:
          if (!thread.state.redo.empty()) thread.redo();
          break;
        case 3:
          if (const auto plan = plan_compaction(thread.state.conversation, thread.state.turns - 1, 20, 0))
            thread << Compacted{*plan};
          break;
        case 4:
          if (*rc::gen::inRange(0, 5) == 0) thread << Cleared{};
          break;
        default:
          thread.say(std::string(static_cast<size_t>(*rc::gen::inRange(1, 60)), 'x'));
          break;
      }
      RC_ASSERT(thread.state.conversation.tokens() == thread.counted_tokens());
      RC_ASSERT(thread.state.undo.size() <= kMaxUndo && thread.state.redo.size() <= kMaxUndo);
      if (thread.state.undo.empty()) continue;  // RC_ASSERT looks at both sides of ||
      RC_ASSERT(thread.state.undo.back().number == thread.state.turns - 1);
    }
    State folded;
    for (const Input& input : thread.log) {
      const auto read = from_body(kind_of(input), to_body(input));
      RC_ASSERT(read.has_value());
      folded = advance(std::move(folded), *read).state;
    }
    RC_ASSERT(folded.transcript == thread.state.transcript);
    RC_ASSERT(folded.turns == thread.state.turns);
    RC_ASSERT(folded.conversation.note() == thread.state.conversation.note());
    RC_ASSERT(folded.conversation.entries().size() == thread.state.conversation.entries().size());
  }));
}

}  // namespace
}  // namespace chela::agent::turn
