#include "llm/bedrock/request_body.h"

#include <gtest/gtest.h>

namespace chela::llm::bedrock {
namespace {

const ToolSpec kEcho{"echo", "says", *json::parse(R"({"type":"object"})")};
constexpr std::string_view kLlama = "meta.llama3-3-70b-instruct-v1:0";
constexpr std::string_view kClaude = "anthropic.claude-sonnet-4-5-20250929-v1:0";

Message user(std::string text) { return {.role = Role::kUser, .content = std::move(text)}; }
Message tool(std::string id, std::string text) {
  return {.role = Role::kTool, .content = std::move(text), .tool_call_id = std::move(id)};
}
std::string part(const Request& request, std::string_view key) {
  const json::Value body = *json::parse(request_body(request));
  return body.find(key) != nullptr ? json::write(*body.find(key)) : "";
}

TEST(BedrockBody, AWholeConversation) {
  Message seen = user("look");
  seen.images.push_back(
      {.media_type = "image/png", .hash = "h", .bytes = std::make_shared<std::string>("abc")});
  const Request request{
      .model = std::string(kLlama),
      .messages = {{.role = Role::kSystem, .content = "be kind"},
                   seen,
                   {.role = Role::kAssistant, .tool_calls = {{"a", "echo", R"({"x":1})"}, {"b", "echo", ""}}},
                   tool("a", "1"),
                   tool("b", R"({"is_error":true})"),
                   user("more")},
      .tools = {kEcho}};
  EXPECT_EQ(
      request_body(request),
      R"({"messages":[{"role":"user","content":[{"text":"look"},{"image":{"format":"png","source":{"bytes":"YWJj"}}}]},)"
      R"({"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"echo","input":{"x":1}}},)"
      R"({"toolUse":{"toolUseId":"b","name":"echo","input":{}}}]},)"
      R"({"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"1"}]}},)"
      R"({"toolResult":{"toolUseId":"b","content":[{"text":"{\"is_error\":true}"}],"status":"error"}},{"text":"more"}]}],)"
      R"("system":[{"text":"be kind"}],)"
      R"("toolConfig":{"tools":[{"toolSpec":{"name":"echo","description":"says","inputSchema":{"json":{"type":"object"}}}}]}})");
}

TEST(BedrockBody, PromptsOfModelsThatCacheThemAreMarked) {
  Request request{.model = std::string(kClaude),
                  .messages = {{.role = Role::kSystem, .content = "s"}, user("x")}};
  EXPECT_EQ(part(request, "system"), R"([{"text":"s"},{"cachePoint":{"type":"default"}}])");
  EXPECT_EQ(part(request, "messages"),
            R"([{"role":"user","content":[{"text":"x"},{"cachePoint":{"type":"default"}}]}])");
  request.model = "us.amazon.nova-pro-v1:0";
  EXPECT_TRUE(part(request, "system").contains("cachePoint"));
  request.model = kLlama;
  EXPECT_FALSE(request_body(request).contains("cachePoint"));
}

TEST(BedrockBody, ToolChoices) {
  Request request{.model = std::string(kClaude),
                  .messages = {user("x"),
                               {.role = Role::kAssistant, .tool_calls = {{"a", "echo", "{}"}}},
                               tool("a", "1")},
                  .tools = {kEcho}};
  EXPECT_FALSE(part(request, "toolConfig").contains("toolChoice"));
  request.tool_choice = ToolChoice::kRequired;
  EXPECT_TRUE(part(request, "toolConfig").contains(R"("toolChoice":{"any":{}})"));
  request.tool_choice_name = "echo";
  EXPECT_TRUE(part(request, "toolConfig").contains(R"("toolChoice":{"tool":{"name":"echo"}})"));
  // The protocol has no "none": then no tools are listed, and calls are text.
  request.tool_choice_name.clear();
  request.tool_choice = ToolChoice::kNone;
  EXPECT_EQ(part(request, "toolConfig"), "");
  EXPECT_FALSE(part(request, "messages").contains("toolUse"));
  EXPECT_TRUE(part(request, "messages").contains("[Tool `echo` returned: 1]"));
}

TEST(BedrockBody, Parameters) {
  Request request{.model = std::string(kLlama), .messages = {user("x")}};
  EXPECT_EQ(part(request, "inferenceConfig"), "");
  request.sampling = {.temperature = 1.5,
                      .top_p = 0.5,
                      .presence_penalty = 1,
                      .max_tokens = 7,
                      .seed = 1,
                      .stop = {"end"},
                      .reasoning_effort = "low"};
  EXPECT_EQ(part(request, "inferenceConfig"),
            R"({"maxTokens":7,"temperature":1.0,"topP":0.5,"stopSequences":["end"]})");
  EXPECT_EQ(part(request, "additionalModelRequestFields"), "");  // it does not think
  request.model = kClaude;
  request.sampling.max_tokens = 2000;
  EXPECT_EQ(part(request, "inferenceConfig"), R"({"maxTokens":2000,"stopSequences":["end"]})");
  EXPECT_EQ(part(request, "additionalModelRequestFields"),
            R"({"thinking":{"type":"enabled","budget_tokens":1024}})");
  request.sampling.max_tokens = 7;  // too short for thoughts
  EXPECT_EQ(part(request, "additionalModelRequestFields"), "");
  EXPECT_EQ(part(request, "inferenceConfig"), R"({"maxTokens":7,"temperature":1.0,"stopSequences":["end"]})");
  request.sampling.reasoning_effort.clear();
  EXPECT_EQ(part(request, "inferenceConfig"), R"({"maxTokens":7,"temperature":1.0,"stopSequences":["end"]})");
  request.model = "global.anthropic.claude-opus-4-6-v1";
  request.sampling = {.reasoning_effort = "minimal"};
  EXPECT_EQ(part(request, "additionalModelRequestFields"),
            R"({"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}})");
}

TEST(BedrockBody, SignedThoughtsGoBack) {
  Message step{.role = Role::kAssistant, .tool_calls = {{"1", "echo", "{}"}}};
  step.provider_data =
      R"({"bedrock":[{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},{"call":true}]})";
  Request request{
      .model = std::string(kClaude), .messages = {user("x"), step, tool("1", "r")}, .tools = {kEcho}};
  request.sampling.reasoning_effort = "low";
  EXPECT_TRUE(
      part(request, "messages")
          .contains(R"([{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},{"toolUse")"));
  request.messages[1].provider_data.clear();
  EXPECT_EQ(part(request, "additionalModelRequestFields"), "");
}

}  // namespace
}  // namespace chela::llm::bedrock
