#include "llm/wire/thoughts.h"

#include <gtest/gtest.h>

namespace chela::llm::wire {
namespace {

json::Value block(const Part& part) { return part.kind == Part::Kind::kCall ? part.call.name : part.text; }

Turn step(std::string data) {
  return {.role = Role::kAssistant,
          .parts = {{.text = "abc"}, {.kind = Part::Kind::kCall, .call = {"1", "f", "{}"}}},
          .provider_data = std::move(data)};
}
const std::string kWhole = R"({"p":[{"t":1},{"text_bytes":1},{"t":2},{"text_bytes":2},{"call":true}]})";

TEST(Thoughts, AreWhereTheyWere) {
  const std::optional<json::Array> blocks = blocks_with_thoughts(step(kWhole), "p", block);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(json::write(*blocks), R"([{"t":1},"a",{"t":2},"bc","f"])");
  EXPECT_EQ(json::write(place_of_text(2)), R"({"text_bytes":2})");
  EXPECT_EQ(json::write(place_of_call()), R"({"call":true})");
}

TEST(Thoughts, BlankTextsBesideThemAreLeftOut) {
  Turn blank = step(R"({"p":[{"text_bytes":2},{"t":1},{"text_bytes":3},{"call":true}]})");
  blank.parts[0].text = "\n\nabc";
  EXPECT_EQ(json::write(*blocks_with_thoughts(blank, "p", block)), R"([{"t":1},"abc","f"])");
  // Where all of it was blank the turn has no text at all.
  Turn none = step(R"({"p":[{"t":1},{"text_bytes":2},{"call":true}]})");
  none.parts.erase(none.parts.begin());
  EXPECT_EQ(json::write(*blocks_with_thoughts(none, "p", block)), R"([{"t":1},"f"])");
}

TEST(Thoughts, OfAnotherAnswerAreNone) {
  EXPECT_FALSE(blocks_with_thoughts(step(kWhole), "q", block));
  for (const std::string data :
       {"", R"({"p":7})", R"({"p":[]})", R"({"p":[{"text_bytes":3}]})", R"({"p":[{"call":true}]})",
        R"({"p":[{"text_bytes":4},{"call":true}]})", R"({"p":[{"text_bytes":-1},{"call":true}]})",
        R"({"p":[{"text_bytes":3},{"call":true},{"call":true}]})"})
    EXPECT_FALSE(blocks_with_thoughts(step(data), "p", block)) << data;
}

TEST(Thoughts, AreWantedSinceAPersonLastSpoke) {
  const Turn person{.parts = {{.text = "x"}}};
  const Turn results{.parts = {{.kind = Part::Kind::kResult}, {.text = "and this"}}};
  EXPECT_TRUE(thoughts_are_there({.turns = {person}}, "p", block));
  EXPECT_TRUE(thoughts_are_there({.turns = {person, step(kWhole), results}}, "p", block));
  EXPECT_FALSE(thoughts_are_there({.turns = {person, step(""), results}}, "p", block));
  EXPECT_TRUE(thoughts_are_there({.turns = {person, step(""), results, {.role = Role::kAssistant}, person}},
                                 "p", block));
}

}  // namespace
}  // namespace chela::llm::wire
