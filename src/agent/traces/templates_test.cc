#include "agent/traces/templates.h"

#include <gtest/gtest.h>

namespace chela::agent::traces {
namespace {

std::string fill(std::string_view arguments) {
  const std::map<std::string, std::string> results{
      {"c1", R"({"id": "42", "list": [{"n": 7}], "o": {"a": true}})"},
      {"c.2", "<tool_output name=\"x\" sanitized=\"false\">\n{\"path\": \"a/b\"}\n</tool_output>"},
      {"c3", "no JSON"}};
  return json::write(filled(*json::parse(arguments), results));
}

TEST(Templates, FieldsOfEarlierResultsAreFilledIn) {
  EXPECT_EQ(fill(R"({"a": "{{c1.id}}", "b": ["x {{ c1.list.0.n }} y {{c.2.path}}"], "c": 1})"),
            R"({"a":"42","b":["x 7 y a/b"],"c":1})");
  EXPECT_EQ(fill(R"("{{c1.o}}{{c1.o.a}}")"), R"("{\"a\":true}true")");
}

TEST(Templates, WhatNothingStandsForStays) {
  for (const char* each : {R"("{{c1.gone}}")", R"("{{c9.id}}")", R"("{{c3.id}}")", R"("{{c1}}")",
                           R"("}} {{")", R"("{{c1.list.1.n}}")", R"("{{.id}}")", R"("{{}}")"})
    EXPECT_EQ(fill(each), each);
  EXPECT_EQ(fill(R"("{{ {{c1.id}}")"), R"("{{ 42")");
}

TEST(Templates, OnlyAWholeFrameIsTakenOff) {
  EXPECT_EQ(without_frame("<tool_output name=\"x\">\nin\n</tool_output>"), "in");
  EXPECT_EQ(without_frame(" plain "), "plain");
  EXPECT_EQ(without_frame("<tool_output name=\"x\">"), "<tool_output name=\"x\">");
  EXPECT_EQ(without_frame("<tool_output </tool_output>"), "<tool_output </tool_output>");
}

}  // namespace
}  // namespace chela::agent::traces
