#include "api/responses_request.h"

#include <gtest/gtest.h>

namespace chela::api {
namespace {

Result<ResponsesRequest> parse(std::string_view text) { return parse_responses_request(*json::parse(text)); }

TEST(ResponsesRequest, ItemsBecomeMessages) {
  const Result<ResponsesRequest> request =
      parse(R"({"model": "m", "instructions": "be brief", "stream": true, "temperature": 0.5,
    "max_output_tokens": 9, "reasoning": {"effort": "low"}, "parallel_tool_calls": false, "store": false, "metadata": {"thread_id": "t"},
    "text": {"format": {"type": "json_schema", "name": "n", "strict": true, "schema": {"type": "object"}}},
    "tools": [{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true}],
    "tool_choice": {"type": "function", "name": "f"},
    "input": [{"role": "developer", "content": "and kind"},
      {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8="}]},
      {"type": "reasoning", "id": "r", "summary": []},
      {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I call", "annotations": []}]},
      {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"x\":1}"},
      {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c1", "output": "42"},
      {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "43"}]}]})");
  ASSERT_TRUE(request) << request.error().text();
  const llm::Request& r = request->chat.request;
  EXPECT_TRUE(request->chat.stream);
  EXPECT_EQ(request->chat.thread_id, "t");
  EXPECT_EQ(r.sampling.max_tokens, 9);
  EXPECT_EQ(r.sampling.reasoning_effort, "low");
  EXPECT_EQ(r.sampling.parallel_tool_calls, false);
  EXPECT_EQ(
      *r.sampling.response_format,
      *json::parse(
          R"({"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}})"));
  EXPECT_EQ(r.tool_choice_name, "f");
  EXPECT_EQ(r.tools.at(0).name, "f");
  EXPECT_EQ(r.extra.find("store"), nullptr);
  ASSERT_EQ(r.messages.size(), 6u);
  EXPECT_EQ(r.messages[0].content, "be brief");
  EXPECT_EQ(r.messages[1].role, llm::Role::kSystem);
  EXPECT_EQ(r.messages[2].content, "one\ntwo");
  EXPECT_EQ(*r.messages[2].images.at(0).bytes, "hello");
  EXPECT_EQ(r.messages[3].content, "I call");
  ASSERT_EQ(r.messages[3].tool_calls.size(), 2u);
  EXPECT_EQ(r.messages[3].tool_calls[0], (llm::ToolCall{"c1", "f", "{\"x\":1}"}));
  EXPECT_EQ(r.messages[4].content, "42");
  EXPECT_EQ(r.messages[5].tool_call_id, "c2");
  EXPECT_EQ(request->echoed.find("temperature")->as_double(), 0.5);
  EXPECT_EQ(request->echoed.find("top_p")->as_double(), 1.0);
}

TEST(ResponsesRequest, WhatTheAssistantSaidIsOneText) {
  const Result<ResponsesRequest> request =
      parse(R"({"model": "m", "input": [{"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "A"}, {"type": "output_text", "text": "B"}]}]})");
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(request->chat.request.messages[1].content, "AB");
}

TEST(ResponsesRequest, TextIsWhatTheUserSays) {
  const Result<ResponsesRequest> request = parse(R"({"model": "m", "input": "hello"})");
  ASSERT_TRUE(request);
  ASSERT_EQ(request->chat.request.messages.size(), 1u);
  EXPECT_EQ(request->chat.request.messages[0].content, "hello");
}

TEST(ResponsesRequest, AnAnswersIdLeadsBackToItsThread) {
  const std::string thread = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
  const std::string answer(32, 'a');
  const std::string id = response_id(thread, answer);
  EXPECT_EQ(id, "resp_0190a1b2c3d47e5f8a9b0c1d2e3f4a5b" + answer);
  EXPECT_EQ(thread_of_response(id), thread);
  EXPECT_EQ(response_id("", answer), "resp_" + answer);
  for (const char* none : {"", "resp_", "resp_zz", "chatcmpl-1"})
    EXPECT_EQ(thread_of_response(none), std::nullopt) << none;
  EXPECT_EQ(thread_of_response("resp_" + answer), std::nullopt);
  EXPECT_EQ(thread_of_response("resp_" + std::string(64, 'G')), std::nullopt);
  const auto request =
      parse(fmt::format(R"({{"model": "chela", "input": "x", "previous_response_id": "{}"}})", id));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->chat.thread_id, thread);
}

TEST(ResponsesRequest, SaysWhichFieldIsWrong) {
  const std::string head = R"({"model": "m", "input": "x", )";
  const std::pair<std::string, std::string> cases[] = {
      {R"({"input": "x"})", "model"},
      {R"({"model": "m"})", "input"},
      {R"({"model": "m", "input": []})", "input"},
      {R"({"model": "m", "input": [{"type": "reasoning"}]})", "input"},
      {R"({"model": "m", "input": [{"type": "item_reference", "id": "x"}]})", "input[0]"},
      {R"({"model": "m", "input": [{"role": "robot", "content": "x"}]})", "input[0].role"},
      {R"({"model": "m", "input": [{"role": "user"}]})", "input[0].content"},
      {R"({"model": "m", "input": [{"role": "user", "content": [{"type": "input_file"}]}]})",
       "input[0].content[0]"},
      {R"({"model": "m", "input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://h/x"}]}]})",
       "input[0].content[0].image_url"},
      {R"({"model": "m", "input": [{"type": "function_call", "name": "f"}]})", "input[0]"},
      {R"({"model": "m", "input": [{"type": "function_call_output", "output": "x"}]})", "input[0].call_id"},
      {R"({"model": "m", "input": [{"type": "function_call_output", "call_id": "c"}]})", "input[0].output"},
      {head + R"("instructions": 5})", "instructions"},
      {head + R"("tools": [{"type": "web_search"}]})", "tools[0].type"},
      {head + R"("tools": [{"type": "function"}]})", "tools[0].name"},
      {head + R"("tool_choice": {"type": "web_search"}})", "tool_choice"},
      {head + R"("max_output_tokens": 0})", "max_output_tokens"},
      {head + R"("text": {"format": {"type": "xml"}}})", "text.format"},
      {head + R"("background": true})", "background"},
      {head + R"("conversation": "c"})", "conversation"},
      {head + R"("previous_response_id": "resp_1"})", "previous_response_id"},
      {head + R"("stream": 1})", "stream"},
  };
  for (const auto& [body, param] : cases) {
    const Result<ResponsesRequest> request = parse(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, Code::kInvalidArgument) << body;
    EXPECT_EQ(request.error().detail("param"), param) << body;
  }
}

}  // namespace
}  // namespace chela::api
