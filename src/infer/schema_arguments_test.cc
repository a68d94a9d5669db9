#include "infer/schema_arguments.h"

#include <gtest/gtest.h>

namespace chela::infer {
namespace {

class SchemaArguments : public testing::Test {
 protected:
  std::string fill(const std::string& schema, const std::string& text) {
    const ToolSpec spec{"some_tool", "Does something.", *json::parse(schema)};
    const auto filled =
        fill_by_schema(spec, {text, std::nullopt, cues_.find(text)},
                       [this](const ToolSpec&, std::string_view,
                              const std::vector<std::string>& keys) -> Result<std::optional<json::Value>> {
                         asked_ = keys;
                         return chosen_;
                       });
    EXPECT_TRUE(filled);
    if (const auto* question = std::get_if<Question>(&*filled)) return question->text;
    return json::write(std::get<json::Value>(*filled));
  }

  CueFinder cues_;
  std::optional<json::Value> chosen_;
  std::vector<std::string> asked_;
};

TEST_F(SchemaArguments, PlainSigns) {
  const char* weather =
      R"({"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["city"]})";
  EXPECT_EQ(fill(weather, "What's the weather in Paris in celsius?"), R"({"city":"Paris","unit":"celsius"})");
  EXPECT_EQ(fill(weather, "will it rain in new york tomorrow"), R"({"city":"new york"})");
  const char* timer =
      R"({"type":"object","properties":{"minutes":{"type":"integer"},"loud":{"type":"boolean"}},"required":["minutes"]})";
  EXPECT_EQ(fill(timer, "set a timer for five minutes, loud"), R"({"minutes":5,"loud":true})");
  EXPECT_EQ(fill(timer, "set a timer for 5 minutes"), R"({"minutes":5})");
  EXPECT_EQ(fill(R"({"type":"object","properties":{"url":{"type":"string"}},"required":["url"]})",
                 "open https://example.com/a please"),
            R"({"url":"https://example.com/a"})");
  EXPECT_EQ(
      fill(
          R"({"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]})",
          "search for red shoes, limit 5"),
      R"({"query":"red shoes limit 5","limit":5})");
  EXPECT_EQ(fill(R"({"type":"object","properties":{"note":{"type":"string"}},"required":["note"]})",
                 "save \"call Bob\""),
            R"({"note":"call Bob"})");
}

TEST_F(SchemaArguments, TheModelChoosesWordsOfTheRequestOnly) {
  const char* schema = R"({"type":"object","properties":{"artist":{"type":"string"}},"required":["artist"]})";
  chosen_ = json::Value::object({{"artist", "Miles Davis"}});
  EXPECT_EQ(fill(schema, "play Miles Davis"), R"({"artist":"Miles Davis"})");
  EXPECT_EQ(asked_, std::vector<std::string>{"artist"});
  EXPECT_EQ(fill(schema, "play something"), "What should I use as the artist for some tool?");
}

TEST_F(SchemaArguments, WhatIsMissingIsAskedFor) {
  EXPECT_EQ(fill(R"({"type":"object","properties":{"size":{"enum":["small","large"]}},"required":["size"]})",
                 "order a pizza"),
            "What should I use as the size for some tool (small, large)?");
  EXPECT_EQ(fill(R"({"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]})",
                 "order pizzas"),
            "What should I use as the count for some tool?");
  EXPECT_EQ(fill(R"({"type":"object","properties":{"filter":{"type":"object"}},"required":["filter"]})",
                 "filter it"),
            "What should I use as the filter for some tool?");
}

TEST_F(SchemaArguments, OddSchemasAreSafe) {
  EXPECT_EQ(fill("{}", "x"), "{}");
  EXPECT_EQ(fill("null", "x"), "{}");
  EXPECT_EQ(fill(R"({"properties":{"a":7},"required":["b",3]})", "x"),
            "What should I use as the b for some tool?");
  EXPECT_EQ(fill(R"({"properties":{"a":{"type":["string","null"],"enum":[]}},"required":["a"]})", "x"),
            "What should I use as the a for some tool?");
}

}  // namespace
}  // namespace chela::infer
