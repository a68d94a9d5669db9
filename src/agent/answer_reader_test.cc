#include "agent/answer_reader.h"

#include <gtest/gtest.h>

#include "agent/dialects/test_formats.h"
#include "agent/dialects/test_tools.h"

namespace chela::agent {
namespace {

using dialects::Refused;
using dialects::ToolSet;

const ToolSet& tools() {
  static const ToolSet set(dialects::test_tools());
  return set;
}

constexpr std::string_view kCall =
    "<tool_call>{\"name\":\"shell\",\"arguments\":{\"command\":\"ls\"}}</tool_call>";

struct Live {
  llm::Delta shown;
  AnswerReader::Result result;
};

// As a provider that streams pieces of so many bytes.
Live stream(llm::Answer answer, size_t size) {
  AnswerReader reader(tools());
  Live live;
  const auto show = [&live](const llm::Delta& delta) {
    live.shown.text += delta.text;
    live.shown.reasoning += delta.reasoning;
  };
  for (size_t at = 0; at < answer.text.size(); at += size)
    show(reader.feed({.text = answer.text.substr(at, size)}));
  live.result = reader.finish(std::move(answer));
  show(live.result.rest);
  return live;
}

TEST(AnswerReader, WhatIsShownIsTheAnswer) {
  for (const dialects::WrittenCall& each : dialects::kWrittenCalls) {
    for (const std::string_view before : {"", "<think>hm</think>Let me look.\n", "<final>So</final>\n"}) {
      for (const size_t size : {1u, 7u, 1000u}) {
        const Live live = stream({.text = std::string(before) + std::string(each.text)}, size);
        EXPECT_EQ(live.shown.text, live.result.answer.text) << each.name;
        EXPECT_EQ(live.shown.reasoning, live.result.answer.reasoning) << each.name;
        if (!before.empty()) continue;
        ASSERT_EQ(live.result.answer.tool_calls.size(), 1u) << each.name;
        EXPECT_EQ(live.result.answer.tool_calls[0].name, "shell");
        EXPECT_EQ(live.result.answer.tool_calls[0].arguments, R"({"command":"ls"})");
        EXPECT_EQ(live.result.answer.finish_reason, llm::FinishReason::kToolCalls);
        EXPECT_EQ(live.result.answer.text, "");
      }
    }
  }
}

TEST(AnswerReader, AnAnswerThatBeginsAnewLeavesNothingOfTheFirst) {
  AnswerReader reader(tools());
  EXPECT_EQ(reader.feed({.text = "<think>hm</think>Hel<tool_call>{\"na"}).text, "Hel");
  const llm::Delta again = reader.feed({.text = "", .reset = true});
  EXPECT_TRUE(again.reset);
  EXPECT_EQ(again.text, "");
  EXPECT_EQ(reader.feed({.text = "Good day"}).text, "Good day");
  const AnswerReader::Result read = reader.finish({.text = "Good day"});
  EXPECT_EQ(read.answer.text, "Good day");
  EXPECT_EQ(read.answer.reasoning, "");
  EXPECT_TRUE(read.answer.tool_calls.empty());
  EXPECT_EQ(read.refused, Refused::kNothing);
}

TEST(AnswerReader, PlainTextIsAsItWas) {
  constexpr std::string_view kText = "Hello, 1 < 2:\n\n```json\n{\"a\": [1]}\n```\n\n| a | b |\nEnd.";
  const Live live = stream({.text = std::string(kText), .finish_reason = llm::FinishReason::kStop}, 5);
  EXPECT_EQ(live.result.answer.text, kText);
  EXPECT_EQ(live.result.answer.finish_reason, llm::FinishReason::kStop);
  EXPECT_EQ(live.result.refused, Refused::kNothing);
}

TEST(AnswerReader, ThoughtsAreReasoning) {
  const Live live = stream({.text = "<think>plan</think>Hi.", .reasoning = "first, "}, 3);
  EXPECT_EQ(live.result.answer.reasoning, "first, plan");
  EXPECT_EQ(live.shown.reasoning, "plan");
  EXPECT_EQ(live.result.answer.text, "Hi.");
}

TEST(AnswerReader, StructuredCallsWin) {
  const Live live = stream(
      {.text = "I run " + std::string(kCall), .tool_calls = {{"c1", "file_read", R"({"path":"a"})"}}}, 4);
  ASSERT_EQ(live.result.answer.tool_calls.size(), 1u);
  EXPECT_EQ(live.result.answer.tool_calls[0].id, "c1");
  EXPECT_EQ(live.result.answer.text, "I run");
}

TEST(AnswerReader, WhatWasCutIsRefused) {
  for (const llm::FinishReason reason : {llm::FinishReason::kLength, llm::FinishReason::kContentFilter}) {
    const Live live = stream(
        {.text = "So: " + std::string(kCall.substr(0, kCall.size() - 14)), .finish_reason = reason}, 6);
    EXPECT_TRUE(live.result.answer.tool_calls.empty());
    EXPECT_EQ(live.result.refused, Refused::kCut);
    EXPECT_EQ(live.result.answer.text, "So:");
    EXPECT_EQ(live.result.answer.finish_reason, reason);
  }
}

TEST(AnswerReader, WithoutToolsNothingIsRefused) {
  const AnswerReader::Result read = read_answer({.text = "So: " + std::string(kCall)}, {});
  EXPECT_EQ(read.refused, Refused::kNothing);
  EXPECT_EQ(read.answer.text, "So:");
  EXPECT_TRUE(read.answer.tool_calls.empty());
}

TEST(AnswerReader, AProviderNeedNotStream) {
  const AnswerReader::Result whole = read_answer({.text = "Hi " + std::string(kCall)}, tools());
  EXPECT_EQ(whole.answer.text, "Hi");
  EXPECT_EQ(whole.answer.tool_calls.size(), 1u);
  AnswerReader late(tools());
  EXPECT_EQ(late.feed({.text = "Hello wo"}).text, "Hello wo");
  const AnswerReader::Result rest = late.finish({.text = "Hello world"});
  EXPECT_EQ(rest.rest.text, "rld");
  EXPECT_EQ(rest.answer.text, "Hello world");
}

TEST(AnswerReader, WhatTheProviderSaysAtTheEndCounts) {
  AnswerReader reader(tools());
  (void)reader.feed({.text = "one thing"});
  const AnswerReader::Result read = reader.finish({.text = "another"});
  EXPECT_EQ(read.answer.text, "another");
  EXPECT_EQ(read.rest.text, "");
}

TEST(AnswerReader, BeginsAnewWhereTheAnswerDoes) {
  AnswerReader reader(tools());
  EXPECT_EQ(reader.feed({.text = "<think>one</think>Hel"}).text, "Hel");
  const llm::Delta again = reader.feed({.text = "Good", .reset = true});
  EXPECT_TRUE(again.reset);
  EXPECT_EQ(again.text, "Good");
  const AnswerReader::Result read = reader.finish({.text = "Good day"});
  EXPECT_EQ(read.rest.text, " day");
  EXPECT_EQ(read.answer.text, "Good day");
  EXPECT_EQ(read.answer.reasoning, "");
}

}  // namespace
}  // namespace chela::agent
