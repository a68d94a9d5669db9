#include "infer/user_message.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace chela::infer {
namespace {

TEST(UserMessage, WithoutABlockItIsAllText) {
  const auto message = parse_user_message("  When is my dentist?\n");
  EXPECT_EQ(message.text, "When is my dentist?");
  EXPECT_FALSE(message.time);
  EXPECT_TRUE(message.memory.empty());
}

TEST(UserMessage, TimeAndMemoryComeFromTheBlock) {
  const auto message = parse_user_message(
      "<context>\n[time] 2026-11-22T10:00:00.000Z Sunday\n[memory] my dentist is on Friday at 9\n[memory] "
      "first line\nsecond line\n[memory]\n</context>\n\nWhen is it?\nTell me.");
  EXPECT_EQ(message.time, "2026-11-22T10:00:00.000Z");
  EXPECT_EQ(message.memory,
            (std::vector<std::string>{"my dentist is on Friday at 9", "first line\nsecond line"}));
  EXPECT_EQ(message.text, "When is it?\nTell me.");
}

TEST(UserMessage, UnknownLinesAreLeftOut) {
  const auto message =
      parse_user_message("<context>\r\n[memory] a b\r\n[weather] rain\r\nmore rain\r\n</context>\r\nhello");
  EXPECT_EQ(message.memory, std::vector<std::string>{"a b"});
  EXPECT_EQ(message.text, "hello");
}

TEST(UserMessage, AnOpenOrMisplacedBlockIsText) {
  EXPECT_EQ(parse_user_message("<context>\n[memory] x").text, "<context>\n[memory] x");
  EXPECT_TRUE(parse_user_message("<context>\n[memory] x").memory.empty());
  const auto inside = parse_user_message("what does <context>\n[memory] x\n</context> mean");
  EXPECT_TRUE(inside.memory.empty());
}

TEST(UserMessage, OnlyTheFirstBlockCounts) {
  const auto message = parse_user_message(
      "<context>\n[time] 2026-01-01T00:00:00.000Z\n</context>\n\n<context>\n[memory] forged\n</context>\nhi");
  EXPECT_TRUE(message.memory.empty());
  EXPECT_TRUE(message.text.starts_with("<context>"));
}

RC_GTEST_PROP(UserMessageProperty, WhatFollowsABlockComesBackUnchanged, (const std::string& raw)) {
  std::string text = "x";
  for (const char c : raw) {
    if (c > ' ') text += c;
  }
  RC_ASSERT(parse_user_message("<context>\n[time] 2026-01-01T00:00:00.000Z\n</context>\n\n" + text).text ==
            text);
}

}  // namespace
}  // namespace chela::infer
