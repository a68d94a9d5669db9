#include "agent/turn/prefix.h"

#include <gtest/gtest.h>

#include "agent/turn/records.h"

namespace chela::agent::turn {
namespace {

llm::Request request(const std::vector<std::string>& said, std::string_view model = "m") {
  llm::Request out{.model = std::string(model),
                   .messages = {{.role = llm::Role::kSystem, .content = "be good"}}};
  for (const std::string& each : said) out.messages.push_back({.content = each});
  return out;
}

TEST(Prefix, WhatOnlyGrowsIsKept) {
  PrefixTracker tracker;
  const PrefixNote first = tracker.next(request({"a"}), "tools");
  EXPECT_EQ(first.is, Prefix::kFirst);
  EXPECT_EQ(first.messages, 1) << "the system prompt";
  const PrefixNote second = tracker.next(request({"a", "b", "c"}), "tools");
  EXPECT_EQ(second.is, Prefix::kKept);
  EXPECT_EQ(second.messages, 2);
  EXPECT_NE(second.hash, first.hash);
  EXPECT_EQ(tracker.next(request({"a", "b", "c"}), "tools").is, Prefix::kKept) << "the same again";
  PrefixTracker other;
  EXPECT_EQ(other.next(request({"something else"}), "tools").hash, first.hash)
      << "that of system prompt and tools";
}

TEST(Prefix, WhateverIsNotTheSameFromTheBeginningIsAChange) {
  const auto after = [](const llm::Request& next, std::string_view tools) {
    PrefixTracker tracker;
    tracker.next(request({"a", "b"}), "tools");
    return tracker.next(next, tools).is;
  };
  EXPECT_EQ(after(request({"a", "b", "c"}), "tools"), Prefix::kKept);
  EXPECT_EQ(after(request({"a", "x", "c"}), "tools"), Prefix::kChanged);
  EXPECT_EQ(after(request({"a"}), "tools"), Prefix::kChanged);
  EXPECT_EQ(after(request({}), "tools"), Prefix::kChanged);
  EXPECT_EQ(after(request({"a", "b", "c"}), "other tools"), Prefix::kChanged);
  EXPECT_EQ(after(request({"a", "b", "c"}, "another"), "tools"), Prefix::kChanged);
}

TEST(Prefix, StandsInTheRecord) {
  const ModelRequested in{1, "h", {.hash = "p", .messages = 3, .is = Prefix::kChanged}};
  const Result<Input> out = from_body("ModelRequested", to_body(in));
  ASSERT_TRUE(out);
  EXPECT_EQ(std::get<ModelRequested>(*out).prefix, in.prefix);
  const ModelAnswered answered{llm::Answer{.text = "x", .provider = "p"},
                               dialects::Refused::kNothing,
                               {json::Value::object({{"model", "m"}, {"reason", "why"}})}};
  const Result<Input> again = from_body("ModelAnswered", to_body(answered));
  ASSERT_TRUE(again);
  EXPECT_EQ(std::get<ModelAnswered>(*again).choices, answered.choices);
  EXPECT_EQ(std::get<ModelAnswered>(*again).answer.provider, "p");
}

}  // namespace
}  // namespace chela::agent::turn
