#include "infer/conversation.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "infer/limits.h"

namespace chela::infer {
namespace {

Message user(std::string text) { return {.role = Role::kUser, .content = std::move(text)}; }

TEST(Conversations, WhatIsRoutedHasALength) {
  const std::string most(kMaxRoutedBytes, 'x');
  EXPECT_EQ(Conversation({.messages = {user(most)}}).text, most);
  EXPECT_EQ(Conversation({.messages = {user(most + "y")}}).text, most);
  EXPECT_EQ(Conversation({.messages = {user(most + "y")}}).last.text, most + "y");
  // Not in the middle of a character.
  const std::string odd = std::string(kMaxRoutedBytes - 1, 'x') + "\u00e4";
  const std::string text = Conversation({.messages = {user(odd)}}).text;
  EXPECT_EQ(text, std::string(kMaxRoutedBytes - 1, 'x'));
}

TEST(Conversations, ResultsBelongToTheCallsAfterTheLastMessage) {
  const Conversation conversation(
      {.messages = {user("one"),
                    {.role = Role::kAssistant, .content = "an answer"},
                    user("two"),
                    {.role = Role::kAssistant,
                     .tool_calls = {{.id = "a", .name = "echo", .arguments = R"({"message":"x"})"},
                                    {.id = "b", .name = "time", .arguments = "no json"}}},
                    {.role = Role::kTool, .content = "late", .tool_call_id = "b"},
                    {.role = Role::kTool, .content = "nobody's", .tool_call_id = "c"}}});
  ASSERT_EQ(conversation.earlier.size(), 2U);
  EXPECT_EQ(conversation.text, "two");
  EXPECT_EQ(conversation.called, (std::vector<std::string>{"echo", "time"}));
  ASSERT_EQ(conversation.results.size(), 2U);
  EXPECT_EQ(conversation.results[0].arguments.string_or("message"), "x");
  EXPECT_TRUE(conversation.results[1].arguments.is_null());
}

TEST(Conversations, WithoutAUserThereIsNothingToAnswer) {
  const Conversation conversation({.messages = {{.role = Role::kAssistant, .content = "hello"}}});
  EXPECT_EQ(conversation.text, "");
  EXPECT_TRUE(conversation.earlier.empty() && conversation.results.empty());
}

}  // namespace
}  // namespace chela::infer
