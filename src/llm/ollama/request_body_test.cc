#include "llm/ollama/request_body.h"

#include <gtest/gtest.h>

namespace chela::llm::ollama {
namespace {

const ToolSpec kEcho{"echo", "says", *json::parse(R"({"type":"object"})")};

std::string part(const Request& request, std::string_view key) {
  const json::Value body = *json::parse(request_body(request));
  return body.find(key) != nullptr ? json::write(*body.find(key)) : "";
}

TEST(OllamaBody, AWholeConversation) {
  Message seen{.role = Role::kUser, .content = "look"};
  seen.images.push_back(
      {.media_type = "image/png", .hash = "h", .bytes = std::make_shared<std::string>("abc")});
  seen.images.push_back({.media_type = "image/png", .hash = "i"});
  const Request request{.model = "qwen3",
                        .messages = {{.role = Role::kSystem, .content = "be kind"},
                                     seen,
                                     {.role = Role::kAssistant,
                                      .tool_calls = {{"a", "echo", R"({"x":1})"}, {"b", "echo", "{broken"}}},
                                     {.role = Role::kTool, .content = "1", .tool_call_id = "a"}},
                        .tools = {kEcho}};
  EXPECT_EQ(
      request_body(request),
      R"({"model":"qwen3","messages":[{"role":"system","content":"be kind"},)"
      R"({"role":"user","content":"look","images":["YWJj"]},{"role":"assistant","content":"","tool_calls":[)"
      R"({"id":"a","function":{"name":"echo","arguments":{"x":1}}},{"id":"b","function":{"name":"echo","arguments":{}}}]},)"
      R"({"role":"tool","content":"1","tool_name":"echo","tool_call_id":"a"},)"
      R"x({"role":"tool","content":"(no result of this call is known)","tool_name":"echo","tool_call_id":"b"}],)x"
      R"("tools":[{"type":"function","function":{"name":"echo","description":"says","parameters":{"type":"object"}}}],)"
      R"("stream":true})");
}

TEST(OllamaBody, WhenNoToolMayBeCalledNoneIsListed) {
  Request request{.model = "m", .tools = {kEcho}, .tool_choice = ToolChoice::kNone};
  EXPECT_EQ(part(request, "tools"), "");
  request.tool_choice = ToolChoice::kRequired;
  EXPECT_NE(part(request, "tools"), "");
}

TEST(OllamaBody, ParametersAreOptions) {
  Request request{.model = "m"};
  EXPECT_EQ(part(request, "options"), "");
  request.sampling = {.temperature = 0.5,
                      .top_p = 0.25,
                      .presence_penalty = 1,
                      .frequency_penalty = 2,
                      .max_tokens = 7,
                      .seed = 3,
                      .stop = {"end"},
                      .response_format = *json::parse(R"({"type":"json_object"})"),
                      .reasoning_effort = "minimal"};
  request.extra.set("options", json::Value::object({{"num_ctx", 9}, {"seed", 1}}));
  request.extra.set("keep_alive", "5m");
  EXPECT_EQ(
      part(request, "options"),
      R"({"num_ctx":9,"seed":3,"temperature":0.5,"top_p":0.25,"presence_penalty":1.0,"frequency_penalty":2.0,)"
      R"("num_predict":7,"stop":["end"]})");
  EXPECT_EQ(part(request, "format"), R"("json")");
  EXPECT_EQ(part(request, "think"), R"("low")");
  EXPECT_EQ(part(request, "keep_alive"), R"("5m")");
  request.sampling.reasoning_effort = "none";
  request.sampling.response_format =
      *json::parse(R"({"type":"json_schema","json_schema":{"schema":{"a":1}}})");
  EXPECT_EQ(part(request, "think"), "false");
  EXPECT_EQ(part(request, "format"), R"({"a":1})");
  request.sampling.response_format = *json::parse(R"({"type":"text"})");
  EXPECT_EQ(part(request, "format"), "");
}

}  // namespace
}  // namespace chela::llm::ollama
