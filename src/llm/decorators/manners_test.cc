#include "llm/decorators/manners.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::llm {
namespace {

// Keeps the request and calls every tool it was offered.
class Caller final : public Provider {
 public:
  Task<Result<Answer>> complete(Request request, DeltaSink, std::optional<SteadyTime>,
                                std::stop_token) override {
    Answer answer;
    for (const ToolSpec& tool : request.tools)
      answer.tool_calls.push_back({.id = "1", .name = tool.name, .arguments = arguments});
    seen = std::move(request);
    co_return answer;
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"m"};
  }

  std::string arguments = "{}";
  Request seen;
};

class MannersTest : public ::testing::Test {
 protected:
  Answer ask(Quirks quirks, Request request) {
    MannersProvider provider(inner, std::move(quirks),
                             [](const std::string& model) { return "sent-" + model; });
    return *runtime::block_on(loop, provider.complete(std::move(request), {}, std::nullopt, {}));
  }

  testing::ManualLoop loop;
  Caller inner;
};

TEST_F(MannersTest, TheModelHasTheProvidersName) {
  ask({}, {.model = "m"});
  EXPECT_EQ(inner.seen.model, "sent-m");
}

TEST_F(MannersTest, WhatIsRefusedIsNotSent) {
  Request request{.model = "m",
                  .sampling = {.temperature = 1,
                               .top_p = 1,
                               .presence_penalty = 1,
                               .frequency_penalty = 1,
                               .max_tokens = 1,
                               .seed = 1,
                               .stop = {"x"},
                               .response_format = json::Value(1),
                               .reasoning_effort = "low",
                               .parallel_tool_calls = true}};
  request.extra.set("temperature", 2);
  ask({.unsupported_params = {"temperature"}}, request);
  EXPECT_FALSE(inner.seen.sampling.temperature);
  EXPECT_EQ(inner.seen.extra.find("temperature"), nullptr);
  EXPECT_TRUE(inner.seen.sampling.top_p);
  ask({.unsupported_params = {"temperature", "top_p", "presence_penalty", "frequency_penalty", "max_tokens",
                              "seed", "stop", "response_format", "reasoning_effort", "parallel_tool_calls"}},
      request);
  EXPECT_EQ(inner.seen.sampling, Sampling{});
}

TEST_F(MannersTest, WhatModelsThatThinkRefuseIsNotSentToThem) {
  const Quirks quirks{.thinking_models = {"sent-o", "sent-gpt-5"}, .thinking_unsupported_params = {"top_p"}};
  for (const auto& [model, sent] : {std::pair{"o3", false}, {"gpt-5-mini", false}, {"gpt-4o", true}}) {
    ask(quirks, {.model = model, .sampling = {.temperature = 1, .top_p = 1}});
    EXPECT_EQ(inner.seen.sampling.top_p.has_value(), sent) << model;
    EXPECT_TRUE(inner.seen.sampling.temperature);
  }
}

TEST_F(MannersTest, CallsHaveIdsThatTheProviderTakes) {
  const std::string ours = "call_01234567-89ab-7cde-8f01-23456789abcd_0";
  const Request request{
      .model = "m",
      .messages = {{.role = Role::kAssistant, .content = "", .tool_calls = {{ours, "f", "{}"}}},
                   {.role = Role::kTool, .content = "r", .tool_call_id = ours}}};
  ask({}, request);
  EXPECT_EQ(inner.seen.messages[1].tool_call_id, ours);
  ask({.call_ids = CallIds::kNine}, request);
  EXPECT_EQ(inner.seen.messages[0].tool_calls[0].id.size(), 9u);
  EXPECT_EQ(inner.seen.messages[1].tool_call_id, inner.seen.messages[0].tool_calls[0].id);
}

TEST_F(MannersTest, ToolNamesGoThereAndComeBack) {
  const Request request{
      .model = "m",
      .messages = {{.role = Role::kAssistant, .content = "", .tool_calls = {{"1", "a::b", "{}"}}},
                   {.role = Role::kTool, .content = "r", .tool_call_id = "1", .name = "a::b"}},
      .tools = {{.name = "a::b", .description = "", .parameters = {}}},
      .tool_choice_name = "a::b"};
  EXPECT_EQ(ask({}, request).tool_calls.front().name, "a::b");
  EXPECT_EQ(inner.seen.tools.front().name, "a::b");
  EXPECT_EQ(ask({.tool_names = ToolNames::kPlain}, request).tool_calls.front().name, "a::b");
  EXPECT_EQ(inner.seen.tools.front().name, "a__b");
  EXPECT_EQ(inner.seen.tool_choice_name, "a__b");
  EXPECT_EQ(inner.seen.messages[0].tool_calls.front().name, "a__b");
  EXPECT_EQ(inner.seen.messages[1].name, "a__b");
}

TEST_F(MannersTest, StrictSchemasGoThereAndNullsComeBackAsNothing) {
  const json::Value schema = *json::parse(R"({"type":"object","properties":{"a::b":{"type":"string"}}})");
  const Request request{.model = "m", .tools = {{.name = "t::t", .description = "", .parameters = schema}}};
  inner.arguments = R"({"a::b":null})";
  const Quirks quirks{.strict_schemas = true, .tool_names = ToolNames::kPlain};
  EXPECT_EQ(ask(quirks, request).tool_calls.front().arguments, "{}");
  EXPECT_EQ(inner.seen.tools.front().parameters->bool_or("additionalProperties", true), false);
  inner.arguments = "no json";
  EXPECT_EQ(ask(quirks, request).tool_calls.front().arguments, "no json");
}

TEST_F(MannersTest, NeighboursOfOneRoleAreOneMessage) {
  const std::vector<Message> merged =
      alternating({{.role = Role::kSystem, .content = "s"},
                   {.content = "a"},
                   {.content = "b"},
                   {.role = Role::kAssistant, .content = ""},
                   {.role = Role::kAssistant, .content = "c", .tool_calls = {{"1", "t", "{}"}}},
                   {.role = Role::kTool, .content = "x", .tool_call_id = "1"},
                   {.role = Role::kTool, .content = "y", .tool_call_id = "2"}});
  ASSERT_EQ(merged.size(), 5u);
  EXPECT_EQ(merged[1].content, "a\n\nb");
  EXPECT_EQ(merged[2].content, "c");
  EXPECT_EQ(merged[2].tool_calls.size(), 1u);
}

}  // namespace
}  // namespace chela::llm
