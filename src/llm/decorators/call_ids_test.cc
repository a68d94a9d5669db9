#include "llm/decorators/call_ids.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace chela::llm {
namespace {

constexpr std::string_view kPlainSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

Message asking(const std::vector<std::string>& ids) {
  Message message{.role = Role::kAssistant};
  for (const std::string& id : ids) message.tool_calls.push_back({.id = id, .name = "f", .arguments = "{}"});
  return message;
}

Message result(std::string id) {
  return {.role = Role::kTool, .content = "r", .tool_call_id = std::move(id)};
}

// All ids of the messages, as they are sent.
std::vector<std::string> sent(CallIds form, std::vector<Message> messages) {
  CallIdMapping mapping(form);
  std::vector<std::string> out;
  for (Message& message : messages) {
    mapping.map(message);
    for (const ToolCall& call : message.tool_calls) out.push_back(call.id);
    if (message.role == Role::kTool) out.push_back(message.tool_call_id);
  }
  return out;
}

bool is_plain(const std::string& id) {
  return !id.empty() && id.size() <= kMaxPlainCallId &&
         id.find_first_not_of(kPlainSigns) == std::string::npos;
}

bool is_nine(const std::string& id) {
  return id.size() == kNineCallId && id.find_first_of("_-") == std::string::npos && is_plain(id);
}

TEST(CallIds, WhatAProviderTakesStaysAsItIs) {
  const std::string longest(kMaxPlainCallId, 'x');
  EXPECT_EQ(sent(CallIds::kPlain, {asking({"toolu_01-A", longest}), result("toolu_01-A")}),
            (std::vector<std::string>{"toolu_01-A", longest, "toolu_01-A"}));
  EXPECT_EQ(sent(CallIds::kNine, {asking({"abcDEF123"}), result("abcDEF123")}),
            (std::vector<std::string>{"abcDEF123", "abcDEF123"}));
}

TEST(CallIds, WhatItRefusesBecomesWhatItTakes) {
  const std::string ours = "call_01234567-89ab-7cde-8f01-23456789abcd_0";  // 43 bytes
  for (const std::string& id : {ours, std::string("functions.time:0"), std::string(), std::string("a b"),
                                std::string(kMaxPlainCallId + 1, 'x')}) {
    const std::vector<std::string> got = sent(CallIds::kPlain, {asking({id}), result(id)});
    EXPECT_TRUE(is_plain(got[0])) << id << " " << got[0];
    EXPECT_NE(got[0], id);
    EXPECT_EQ(got[1], got[0]) << "the result belongs to its call";
    const std::vector<std::string> nine = sent(CallIds::kNine, {asking({id}), result(id)});
    EXPECT_TRUE(is_nine(nine[0])) << id << " " << nine[0];
    EXPECT_EQ(nine[1], nine[0]);
  }
}

TEST(CallIds, AnIdOfTwoAnswersBecomesTwo) {
  const std::vector<std::string> got =
      sent(CallIds::kPlain, {asking({"c0"}), result("c0"), asking({"c0"}), result("c0")});
  EXPECT_EQ(got[0], "c0");
  EXPECT_EQ(got[1], "c0");
  EXPECT_NE(got[2], "c0");
  EXPECT_EQ(got[3], got[2]);
}

TEST(CallIds, AConversationThatGrewKeepsItsIds) {
  std::vector<Message> messages{asking({"functions.a:0", "functions.b:1"}), result("functions.b:1"),
                                result("functions.a:0")};
  const std::vector<std::string> before = sent(CallIds::kNine, messages);
  messages.push_back(asking({"functions.a:0"}));
  messages.push_back(result("gone"));
  std::vector<std::string> after = sent(CallIds::kNine, messages);
  after.resize(before.size());
  EXPECT_EQ(after, before);
}

TEST(CallIds, AnyIdsAreTakenAndDistinct) {
  EXPECT_TRUE(rc::check([] {
    const auto id = rc::gen::container<std::string>(rc::gen::element('a', '1', '_', ':', '.', ' '));
    const std::vector<std::string> ids = *rc::gen::container<std::vector<std::string>>(id);
    for (const CallIds form : {CallIds::kPlain, CallIds::kNine}) {
      std::vector<std::string> got = sent(form, {asking(ids)});
      const bool taken = std::ranges::all_of(got, form == CallIds::kNine ? is_nine : is_plain);
      RC_ASSERT(taken);
      std::ranges::sort(got);
      const bool distinct = std::ranges::adjacent_find(got) == got.end();
      RC_ASSERT(distinct);
    }
  }));
}

}  // namespace
}  // namespace chela::llm
