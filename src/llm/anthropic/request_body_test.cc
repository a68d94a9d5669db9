#include "llm/anthropic/request_body.h"

#include <gtest/gtest.h>

#include <limits>

#include "llm/anthropic/limits.h"

namespace chela::llm::anthropic {
namespace {

Message user(std::string text) { return {.role = Role::kUser, .content = std::move(text)}; }
Message tool(std::string id, std::string text) {
  return {.role = Role::kTool, .content = std::move(text), .tool_call_id = std::move(id)};
}
json::Value body_of(Request request) { return *json::parse(request_body(std::move(request))); }
std::string part(const json::Value& body, std::string_view key) {
  return body.find(key) != nullptr ? json::write(*body.find(key)) : "";
}

const ToolSpec kEcho{"echo", "says it again", *json::parse(R"({"type":"object"})")};

TEST(AnthropicBody, AWholeConversation) {
  Message seen = user("look");
  seen.images.push_back(
      {.media_type = "image/png", .hash = "h", .bytes = std::make_shared<std::string>("abc")});
  seen.images.push_back({.media_type = "image/gif", .hash = "i"});
  Request request{.model = "claude-sonnet-4-20250514",
                  .messages = {{.role = Role::kSystem, .content = "be kind"},
                               seen,
                               {.role = Role::kAssistant,
                                .content = "I look",
                                .tool_calls = {{"a", "echo", R"({"x":1})"}, {"b", "echo", "{broken"}}},
                               tool("a", "1"),
                               tool("b", R"({"is_error":true})"),
                               user("more")},
                  .tools = {kEcho}};
  EXPECT_EQ(
      request_body(request),
      R"({"model":"claude-sonnet-4-20250514","max_tokens":8192,)"
      R"("system":[{"type":"text","text":"be kind","cache_control":{"type":"ephemeral"}}],"messages":[)"
      R"({"role":"user","content":[{"type":"text","text":"look"},)"
      R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}},)"
      R"({"type":"text","text":"[an image of type image/gif that is not kept]","cache_control":{"type":"ephemeral"}}]},)"
      R"({"role":"assistant","content":[{"type":"text","text":"I look"},)"
      R"({"type":"tool_use","id":"a","name":"echo","input":{"x":1}},{"type":"tool_use","id":"b","name":"echo","input":{}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},)"
      R"({"type":"tool_result","tool_use_id":"b","content":"{\"is_error\":true}","is_error":true},)"
      R"({"type":"text","text":"more","cache_control":{"type":"ephemeral"}}]}],)"
      R"("stream":true,"tools":[{"name":"echo","description":"says it again","input_schema":{"type":"object"}}]})");
}

TEST(AnthropicBody, WithoutASystemPromptTheToolsAreMarkedForTheCache) {
  const json::Value body = body_of({.model = "m", .messages = {user("x")}, .tools = {kEcho}});
  EXPECT_TRUE(part(body, "tools").contains("cache_control"));
}

TEST(AnthropicBody, WhatWasMarkedLastIsMarkedInTheNextRequest) {
  // The second request's first mark of a message is where the first one's last was: the cache is found again.
  Request first{.model = "m", .messages = {user("one")}};
  Request second = first;
  second.messages.push_back({.role = Role::kAssistant, .tool_calls = {{"a", "echo", "{}"}}});
  second.messages.push_back(tool("a", "1"));
  const std::string before = part(body_of(first), "messages");
  EXPECT_TRUE(part(body_of(second), "messages").starts_with(before.substr(0, before.size() - 1)));
}

TEST(AnthropicBody, WithoutToolsCallsAreText) {
  Request request{
      .model = "m",
      .messages = {
          user("x"), {.role = Role::kAssistant, .tool_calls = {{"a", "echo", "{}"}}}, tool("a", "1")}};
  EXPECT_FALSE(part(body_of(request), "messages").contains("tool_use"));
  EXPECT_TRUE(part(body_of(request), "messages").contains("[Called tool `echo`"));
}

TEST(AnthropicBody, ToolChoices) {
  Request request{.model = "m", .messages = {user("x")}, .tools = {kEcho}};
  EXPECT_EQ(part(body_of(request), "tool_choice"), "");
  request.sampling.parallel_tool_calls = false;
  EXPECT_EQ(part(body_of(request), "tool_choice"), R"({"type":"auto","disable_parallel_tool_use":true})");
  request.tool_choice = ToolChoice::kNone;
  EXPECT_EQ(part(body_of(request), "tool_choice"), R"({"type":"none"})");
  request.sampling.parallel_tool_calls = {};
  request.tool_choice = ToolChoice::kRequired;
  EXPECT_EQ(part(body_of(request), "tool_choice"), R"({"type":"any"})");
  request.tool_choice_name = "echo";
  EXPECT_EQ(part(body_of(request), "tool_choice"), R"({"type":"tool","name":"echo"})");
  request.tools.clear();
  EXPECT_EQ(part(body_of(request), "tool_choice"), "");
}

TEST(AnthropicBody, ParametersThatTheProtocolHas) {
  Request request{.model = "claude-sonnet-4-0", .messages = {user("x")}};
  request.sampling = {.temperature = 1.5,
                      .top_p = 0.5,
                      .presence_penalty = 1,
                      .frequency_penalty = 1,
                      .max_tokens = 7,
                      .seed = 3,
                      .stop = {"end"},
                      .response_format = *json::parse(R"({"type":"json_object"})")};
  request.extra.set("top_k", 5);
  request.extra.set("user", "ada");
  request.extra.set("store", true);
  const json::Value body = body_of(request);
  EXPECT_EQ(part(body, "temperature"), "1.0");
  EXPECT_EQ(part(body, "max_tokens"), "7");
  EXPECT_EQ(part(body, "stop_sequences"), R"(["end"])");
  EXPECT_EQ(part(body, "top_k"), "5");
  EXPECT_EQ(part(body, "metadata"), R"({"user_id":"ada"})");
  for (const std::string_view absent : {"top_p", "presence_penalty", "frequency_penalty", "seed",
                                        "response_format", "store", "output_config", "thinking"})
    EXPECT_EQ(part(body, absent), "") << absent;
  request.model = "claude-opus-4-7";
  EXPECT_EQ(part(body_of(request), "temperature"), "");
  request.sampling.response_format =
      *json::parse(R"({"type":"json_schema","json_schema":{"schema":{"type":"object"}}})");
  EXPECT_EQ(part(body_of(request), "output_config"),
            R"({"format":{"type":"json_schema","schema":{"type":"object"}}})");
  request.model = "claude-3-opus-20240229";
  request.sampling = {};
  EXPECT_EQ(body_of(request).int_or("max_tokens", 0), kOldMaxTokens);
  request.model = "unheard";
  EXPECT_EQ(body_of(request).int_or("max_tokens", 0), kDefaultMaxTokens);
}

TEST(AnthropicBody, Thinking) {
  Request request{.model = "claude-sonnet-4-5", .messages = {user("x")}, .tools = {kEcho}};
  request.sampling = {.temperature = 0.5, .max_tokens = 5000, .reasoning_effort = "low"};
  json::Value body = body_of(request);
  EXPECT_EQ(part(body, "thinking"), R"({"type":"enabled","budget_tokens":1024})");
  EXPECT_EQ(body.int_or("max_tokens", 0), 5000) << "what was asked for is what was reserved";
  EXPECT_EQ(part(body, "temperature"), "");
  request.sampling.reasoning_effort = "high";
  body = body_of(request);
  EXPECT_EQ(part(body, "thinking"), R"({"type":"enabled","budget_tokens":3750})")
      << "a quarter is the answer's";
  EXPECT_EQ(body.int_or("max_tokens", 0), 5000);
  request.sampling.max_tokens = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(part(body_of(request), "thinking"), R"({"type":"enabled","budget_tokens":16384})");
  request.sampling.max_tokens.reset();
  EXPECT_EQ(body_of(request).int_or("max_tokens", 0), kDefaultMaxTokens + 16 * kMinThinkingTokens);
  // Too short for thoughts.
  request.sampling.max_tokens = 100;
  body = body_of(request);
  EXPECT_EQ(part(body, "thinking"), "");
  EXPECT_EQ(body.int_or("max_tokens", 0), 100);
  EXPECT_EQ(part(body, "temperature"), "0.5");
  request.sampling.reasoning_effort = "low";
  request.model = "claude-opus-4-6";
  body = body_of(request);
  EXPECT_EQ(part(body, "thinking"), R"({"type":"adaptive","display":"summarized"})");
  EXPECT_EQ(part(body, "output_config"), R"({"effort":"low"})");
  EXPECT_EQ(body.int_or("max_tokens", 0), 100);
  Request forced = request;
  forced.tool_choice = ToolChoice::kRequired;
  EXPECT_EQ(part(body_of(forced), "thinking"), "");
  request.sampling.reasoning_effort = "none";
  EXPECT_EQ(part(body_of(request), "thinking"), "");
}

TEST(AnthropicBody, SignedThoughtsGoBackWhereTheyWere) {
  Message step{.role = Role::kAssistant, .content = "ab", .tool_calls = {{"1", "echo", "{}"}}};
  step.provider_data = R"({"anthropic":[{"type":"thinking","thinking":"t","signature":"s"},{"text_bytes":2},)"
                       R"({"type":"redacted_thinking","data":"d"},{"call":true}]})";
  Request request{
      .model = "claude-sonnet-4-5", .messages = {user("x"), step, tool("1", "r")}, .tools = {kEcho}};
  request.sampling.reasoning_effort = "low";
  json::Value body = body_of(request);
  EXPECT_EQ(
      json::write(*(*body.find("messages")->as_array())[1].find("content")),
      R"([{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"ab"},)"
      R"({"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"1","name":"echo","input":{}}])");
  EXPECT_NE(part(body, "thinking"), "");
  // Without them, or when they belong to another text, the model goes on without thinking; the next turn may think again.
  for (const std::string data : {"", R"({"anthropic":[{"text_bytes":9}]})", R"({"gemini":[]})"}) {
    request.messages[1].provider_data = data;
    body = body_of(request);
    EXPECT_EQ(part(body, "thinking"), "") << data;
    EXPECT_FALSE(part(body, "messages").contains("signature"));
  }
  request.messages.push_back({.role = Role::kAssistant, .content = "done"});
  request.messages.push_back(user("next"));
  EXPECT_NE(part(body_of(request), "thinking"), "");
}

}  // namespace
}  // namespace chela::llm::anthropic
