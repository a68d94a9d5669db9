#include "agent/turn/call_ids.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace chela::agent::turn {
namespace {

const std::string kTurn = "01234567-89ab-7cde-8f01-23456789abcd";

std::vector<llm::ToolCall> calls(const std::vector<std::string>& ids) {
  std::vector<llm::ToolCall> out;
  for (const std::string& id : ids) out.push_back({.id = id, .name = "f", .arguments = "{}"});
  return out;
}

TEST(CallIds, OursAreShortEnoughForEveryProvider) {
  std::set<std::string> used;
  std::vector<llm::ToolCall> many = calls(std::vector<std::string>(kMaxAnswerCalls));
  name_new_calls(kTurn, used, many);
  EXPECT_EQ(used.size(), kMaxAnswerCalls);
  EXPECT_EQ(many.front().id, "call_7cde8f0123456789abcd_0");
  for (const llm::ToolCall& call : many) EXPECT_LE(call.id.size(), 40u);
  EXPECT_EQ(many.front().id.size(), kMaxTurnPartBytes + 7);
}

TEST(CallIds, WhatIsNamedStaysWhenTheLogIsRead) {
  std::set<std::string> used{"a"};
  std::vector<llm::ToolCall> some = calls({"a", "b", "", std::string(kMaxForeignIdBytes + 1, 'x')});
  name_new_calls(kTurn, used, some);
  EXPECT_EQ(some[1].id, "b");
  std::vector<llm::ToolCall> again = some;
  std::set<std::string> read{"a"};
  name_calls(kTurn, read, again);
  EXPECT_EQ(again, some);
  EXPECT_EQ(read, used);
}

TEST(CallIds, AnOldLogHasTheWholeIdOfTheTurn) {
  std::set<std::string> used;
  std::vector<llm::ToolCall> one = calls({""});
  name_calls(kTurn, used, one);
  EXPECT_EQ(one.front().id, "call_" + kTurn + "_0");
}

}  // namespace
}  // namespace chela::agent::turn
