#include "llm/gemini/request_body.h"

#include <gtest/gtest.h>

namespace chela::llm::gemini {
namespace {

const ToolSpec kEcho{"echo", "says", *json::parse(R"({"type":"object"})")};

Message asks(std::initializer_list<std::string> ids) {
  Message message{.role = Role::kAssistant};
  for (const std::string& id : ids) message.tool_calls.push_back({id, "echo", R"({"x":1})"});
  return message;
}
Message result(std::string id, std::string text) {
  return {.role = Role::kTool, .content = std::move(text), .tool_call_id = std::move(id)};
}
std::string part(const Request& request, std::string_view key) {
  const json::Value body = *json::parse(request_body(request));
  return body.find(key) != nullptr ? json::write(*body.find(key)) : "";
}

TEST(GeminiBody, AWholeConversation) {
  Message seen{.role = Role::kUser, .content = "look"};
  seen.images.push_back(
      {.media_type = "image/png", .hash = "h", .bytes = std::make_shared<std::string>("abc")});
  const Request request{.model = "gemini-2.5-flash",
                        .messages = {{.role = Role::kSystem, .content = "be kind"},
                                     seen,
                                     asks({"a", "b"}),
                                     result("b", R"({"is_error":true})"),
                                     result("a", "1")},
                        .tools = {kEcho}};
  EXPECT_EQ(
      request_body(request),
      R"({"systemInstruction":{"parts":[{"text":"be kind"}]},"contents":[)"
      R"({"role":"user","parts":[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"YWJj"}}]},)"
      R"({"role":"model","parts":[{"functionCall":{"name":"echo","args":{"x":1}}},{"functionCall":{"name":"echo","args":{"x":1}}}]},)"
      R"({"role":"user","parts":[{"functionResponse":{"name":"echo","response":{"error":"{\"is_error\":true}"}}},)"
      R"({"functionResponse":{"name":"echo","response":{"output":"1"}}}]}],)"
      R"("tools":[{"functionDeclarations":[{"name":"echo","description":"says","parametersJsonSchema":{"type":"object"}}]}]})");
}

TEST(GeminiBody, SignaturesAndIdsGoBackWithTheirCalls) {
  Message step = asks({"call_1", "call_2"});
  step.provider_data = R"({"gemini":[{"id":"g1","signature":"s"},{}]})";
  Request request{.model = "gemini-3-pro",
                  .messages = {{.content = "x"}, step, result("call_1", "r"), result("call_2", "q")}};
  const std::string contents = part(request, "contents");
  EXPECT_TRUE(contents.contains(
      R"({"functionCall":{"name":"echo","args":{"x":1},"id":"g1"},"thoughtSignature":"s"})"));
  EXPECT_TRUE(contents.contains(R"({"functionCall":{"name":"echo","args":{"x":1}}})"));
  EXPECT_TRUE(
      contents.contains(R"({"functionResponse":{"name":"echo","response":{"output":"r"},"id":"g1"}})"));
  EXPECT_FALSE(contents.contains("call_"));
  // Calls of another model: the first of a step says that there is no signature, for models that insist on one.
  request.messages[1].provider_data = R"({"anthropic":[]})";
  EXPECT_TRUE(part(request, "contents").contains("skip_thought_signature_validator"));
  request.messages[1].provider_data = R"({"gemini":[{}]})";  // of other calls
  EXPECT_TRUE(part(request, "contents").contains("skip_thought_signature_validator"));
  request.model = "gemini-2.5-pro";
  EXPECT_FALSE(part(request, "contents").contains("thoughtSignature"));
}

TEST(GeminiBody, ToolChoices) {
  Request request{.model = "m", .messages = {{.content = "x"}}, .tools = {kEcho}};
  EXPECT_EQ(part(request, "toolConfig"), "");
  request.tool_choice = ToolChoice::kNone;
  EXPECT_EQ(part(request, "toolConfig"), R"({"functionCallingConfig":{"mode":"NONE"}})");
  request.tool_choice = ToolChoice::kRequired;
  EXPECT_EQ(part(request, "toolConfig"), R"({"functionCallingConfig":{"mode":"ANY"}})");
  request.tool_choice_name = "echo";
  EXPECT_EQ(part(request, "toolConfig"),
            R"({"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["echo"]}})");
}

TEST(GeminiBody, Parameters) {
  Request request{.model = "gemini-2.5-pro", .messages = {{.content = "x"}}};
  EXPECT_EQ(part(request, "generationConfig"), "");
  request.sampling = {
      .temperature = 0.5,
      .top_p = 0.25,
      .presence_penalty = 1,
      .frequency_penalty = 2,
      .max_tokens = 7,
      .seed = 3,
      .stop = {"end"},
      .response_format = *json::parse(R"({"type":"json_schema","json_schema":{"schema":{"a":1}}})"),
      .reasoning_effort = "medium"};
  request.extra.set("top_k", 4);
  EXPECT_EQ(
      part(request, "generationConfig"),
      R"({"temperature":0.5,"topP":0.25,"topK":4,"presencePenalty":1.0,"frequencyPenalty":2.0,"maxOutputTokens":7,"seed":3,)"
      R"("stopSequences":["end"],"responseMimeType":"application/json","responseJsonSchema":{"a":1},)"
      R"("thinkingConfig":{"includeThoughts":true,"thinkingBudget":128}})");
  request.model = "gemini-2.5-flash";
  request.sampling = {.reasoning_effort = "none"};
  EXPECT_TRUE(part(request, "generationConfig").contains(R"({"includeThoughts":false,"thinkingBudget":0})"));
  request.model = "gemini-2.5-pro";  // always thinks
  EXPECT_TRUE(part(request, "generationConfig").contains(R"("thinkingBudget":128})"));
  request.sampling = {.max_tokens = 8192, .reasoning_effort = "high"};
  EXPECT_TRUE(part(request, "generationConfig").contains(R"("thinkingBudget":4096})"))
      << "half is for the answer";
  request.model = "gemini-2.5-flash-lite";
  request.sampling = {.max_tokens = 1000, .reasoning_effort = "low"};
  EXPECT_TRUE(part(request, "generationConfig").contains(R"("thinkingBudget":0})"))
      << "it has none below 512";
  request.sampling = {.reasoning_effort = "none"};
  request.model = "gemini-3-flash";
  EXPECT_TRUE(
      part(request, "generationConfig").contains(R"({"includeThoughts":true,"thinkingLevel":"low"})"));
}

}  // namespace
}  // namespace chela::llm::gemini
