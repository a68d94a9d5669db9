#include "llm/wire/turns.h"

#include <gtest/gtest.h>

namespace chela::llm::wire {
namespace {

Message user(std::string text) { return {.role = Role::kUser, .content = std::move(text)}; }
Message tool(std::string id, std::string text) {
  return {.role = Role::kTool, .content = std::move(text), .tool_call_id = std::move(id), .name = "time"};
}
Message asking(std::initializer_list<std::string> ids) {
  Message message{.role = Role::kAssistant};
  for (const std::string& id : ids) message.tool_calls.push_back({id, "time", "{}"});
  return message;
}

TEST(WellOrdered, LeavesAProperConversationAlone) {
  const std::vector<Message> proper{user("hi"), asking({"a", "b"}), tool("b", "2"), tool("a", "1"),
                                    user("more")};
  EXPECT_EQ(well_ordered(proper), proper);
}

TEST(WellOrdered, OrphansBecomeUserTextAndMissingResultsAreFilledIn) {
  const std::vector<Message> got =
      well_ordered({tool("x", "old"), asking({"a", "b"}), tool("a", "1"), tool("a", "again"), user("go")});
  ASSERT_EQ(got.size(), 6u);
  EXPECT_EQ(got[0].role, Role::kUser);
  EXPECT_EQ(got[0].content, "[Earlier result of time]\nold");
  EXPECT_EQ(got[2], tool("a", "1"));
  EXPECT_EQ(got[3].role, Role::kTool);
  EXPECT_EQ(got[3].tool_call_id, "b");
  EXPECT_EQ(got[4].role, Role::kUser);
  EXPECT_EQ(got[5], user("go"));
  EXPECT_EQ(well_ordered({asking({"a"})}).size(), 2u);
}

TEST(AsTurns, TheSidesTakeTurnsAndTheUserBegins) {
  Message seen = user("look");
  seen.images.push_back({.media_type = "image/png", .hash = "h"});
  const Turns got = as_turns({{.role = Role::kSystem, .content = "one"},
                              {.role = Role::kSystem, .content = "two"},
                              asking({"a", "b"}),
                              tool("b", "2"),
                              tool("a", R"({"is_error":true})"),
                              seen,
                              {.role = Role::kSystem, .content = "hurry"},
                              {.role = Role::kAssistant},
                              user("more"),
                              {.role = Role::kAssistant, .content = "x"},
                              {.role = Role::kAssistant, .content = "y"}});
  EXPECT_EQ(got.system, "one\n\ntwo");
  ASSERT_EQ(got.turns.size(), 4u);
  EXPECT_EQ(got.turns[0].role, Role::kUser);  // put in
  EXPECT_EQ(got.turns[1].parts.size(), 2u);
  const std::vector<Part>& said = got.turns[2].parts;
  ASSERT_EQ(said.size(), 6u);
  EXPECT_EQ(said[0].call.name, "time");
  EXPECT_FALSE(said[0].is_error);
  EXPECT_TRUE(said[1].is_error);
  EXPECT_EQ(said[3].kind, Part::Kind::kImage);
  EXPECT_EQ(said[4].text, "[System]\nhurry");
  EXPECT_EQ(said[5].text, "more");  // the empty answer before it is gone
  EXPECT_EQ(got.turns[3].parts.size(), 2u);
  EXPECT_EQ(as_turns({}).turns.size(), 1u);
}

TEST(AsTurns, ProviderDataBelongsToATurnThatWasOneMessage) {
  Message first = asking({"a"});
  first.provider_data = "d";
  EXPECT_EQ(as_turns({user("x"), first}).turns[1].provider_data, "d");
  EXPECT_EQ(as_turns({user("x"), first, {.role = Role::kAssistant, .content = "y"}}).turns[1].provider_data,
            "d");
  Message plain{.role = Role::kAssistant, .content = "y"};
  EXPECT_EQ(as_turns({user("x"), plain, first}).turns[1].provider_data, "");
}

TEST(AsTurns, BlankTextsAreNoPartsForServersRefuseThem) {
  Message calling = asking({"a"});
  calling.content = "\n\n";
  calling.provider_data = "d";
  const Turns got =
      as_turns({{.role = Role::kSystem, .content = " \n"}, user("x"), calling, tool("a", "1"), user(" ")});
  EXPECT_EQ(got.system, "");
  ASSERT_EQ(got.turns.size(), 3u);
  ASSERT_EQ(got.turns[1].parts.size(), 1u);
  EXPECT_EQ(got.turns[1].parts[0].kind, Part::Kind::kCall);
  EXPECT_EQ(got.turns[1].provider_data, "d");
  EXPECT_EQ(got.turns[2].parts.size(), 1u);
  EXPECT_TRUE(is_blank("") && is_blank(" \t\r\n") && !is_blank(" a "));
}

TEST(WithoutToolMessages, CallsAndResultsAreText) {
  const std::vector<Message> got =
      without_tool_messages({user("x"), asking({"a"}), tool("a", "noon"), tool("z", "old")});
  EXPECT_FALSE(has_tool_messages(got));
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[1].content, "[Called tool `time` with arguments: {}]");
  EXPECT_EQ(got[2], user("[Tool `time` returned: noon]"));
  EXPECT_EQ(got[3].content, "[Earlier result of time]\nold");
  EXPECT_TRUE(has_tool_messages({asking({"a"})}));
  EXPECT_TRUE(has_tool_messages({tool("a", "")}));
}

TEST(Arguments, AreAnObject) {
  EXPECT_EQ(json::write(arguments_object({.id = {}, .name = {}, .arguments = R"({"a":1})"})), R"({"a":1})");
  for (const std::string text : {"", "{broken", "7"})
    EXPECT_EQ(json::write(arguments_object({.id = {}, .name = {}, .arguments = text})), "{}");
}

}  // namespace
}  // namespace chela::llm::wire
