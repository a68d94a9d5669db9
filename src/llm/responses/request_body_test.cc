#include "llm/responses/request_body.h"

#include <gtest/gtest.h>

namespace chela::llm::responses {
namespace {

const ToolSpec kEcho{"echo", "says", *json::parse(R"({"type":"object"})")};

std::string part(const Request& request, std::string_view key) {
  const json::Value body = *json::parse(request_body(request));
  return body.find(key) != nullptr ? json::write(*body.find(key)) : "";
}

TEST(ResponsesBody, AWholeConversation) {
  Message seen{.role = Role::kUser, .content = "look"};
  seen.images.push_back(
      {.media_type = "image/png", .hash = "h", .bytes = std::make_shared<std::string>("abc")});
  Message step{.role = Role::kAssistant,
               .content = "I look",
               .tool_calls = {{"a", "echo", R"({"x":1})"}, {"b", "echo", "{broken"}}};
  step.provider_data =
      R"({"responses":[{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e"}]})";
  Request request{.model = "gpt-5",
                  .messages = {{.role = Role::kSystem, .content = "be kind"},
                               seen,
                               step,
                               {.role = Role::kTool, .content = "1", .tool_call_id = "a"},
                               {.role = Role::kTool, .content = "2", .tool_call_id = "b"},
                               {.role = Role::kSystem, .content = "hurry"}},
                  .tools = {kEcho}};
  EXPECT_EQ(
      request_body(request),
      R"({"model":"gpt-5","instructions":"be kind","input":[)"
      R"({"role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,YWJj"}]},)"
      R"({"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e"},)"
      R"({"role":"assistant","content":[{"type":"output_text","text":"I look"}]},)"
      R"({"type":"function_call","call_id":"a","name":"echo","arguments":"{\"x\":1}"},)"
      R"({"type":"function_call","call_id":"b","name":"echo","arguments":"{broken"},)"
      R"({"type":"function_call_output","call_id":"a","output":"1"},{"type":"function_call_output","call_id":"b","output":"2"},)"
      R"({"role":"system","content":[{"type":"input_text","text":"hurry"}]}],)"
      R"("tools":[{"type":"function","name":"echo","description":"says","parameters":{"type":"object"},"strict":false}],)"
      R"("include":["reasoning.encrypted_content"],"store":false,"stream":true})");
  request.model = "gpt-4o";  // does not think: it gets no thoughts and is asked for none
  EXPECT_FALSE(request_body(request).contains("reasoning"));
}

TEST(ResponsesBody, ToolChoices) {
  Request request{.model = "m", .messages = {{.content = "x"}}, .tools = {kEcho}};
  request.sampling.parallel_tool_calls = false;
  EXPECT_EQ(part(request, "tool_choice"), "");
  EXPECT_EQ(part(request, "parallel_tool_calls"), "false");
  request.tool_choice = ToolChoice::kNone;
  EXPECT_EQ(part(request, "tool_choice"), R"("none")");
  request.tool_choice = ToolChoice::kRequired;
  EXPECT_EQ(part(request, "tool_choice"), R"("required")");
  request.tool_choice_name = "echo";
  EXPECT_EQ(part(request, "tool_choice"), R"({"type":"function","name":"echo"})");
  request.tools.clear();
  EXPECT_EQ(part(request, "tool_choice") + part(request, "parallel_tool_calls"), "");
}

TEST(ResponsesBody, Parameters) {
  Request request{.model = "gpt-4o", .messages = {{.content = "x"}}};
  request.sampling = {.temperature = 0.5,
                      .top_p = 0.25,
                      .presence_penalty = 1,
                      .max_tokens = 7,
                      .seed = 3,
                      .stop = {"end"},
                      .response_format = *json::parse(
                          R"({"type":"json_schema","json_schema":{"name":"n","schema":{"a":1}}})"),
                      .reasoning_effort = "low"};
  request.extra.set("user", "ada");
  request.extra.set("n", 2);
  EXPECT_EQ(part(request, "temperature"), "0.5");
  EXPECT_EQ(part(request, "top_p"), "0.25");
  EXPECT_EQ(part(request, "max_output_tokens"), "7");
  EXPECT_EQ(part(request, "text"), R"({"format":{"type":"json_schema","name":"n","schema":{"a":1}}})");
  EXPECT_EQ(part(request, "user"), R"("ada")");
  for (const std::string_view absent : {"reasoning", "include", "presence_penalty", "seed", "stop", "n"})
    EXPECT_EQ(part(request, absent), "") << absent;
  request.model = "o3-mini";
  EXPECT_EQ(part(request, "reasoning"), R"({"effort":"low","summary":"auto"})");
  EXPECT_EQ(part(request, "temperature") + part(request, "top_p"), "");
}

TEST(ResponsesBody, WhoThinks) {
  for (const std::string_view model : {"o1", "o3-mini", "o4-mini", "gpt-5.1", "codex-mini"})
    EXPECT_TRUE(thinks(model)) << model;
  for (const std::string_view model : {"gpt-4o", "gpt-5-chat-latest", "other"})
    EXPECT_FALSE(thinks(model)) << model;
}

}  // namespace
}  // namespace chela::llm::responses
