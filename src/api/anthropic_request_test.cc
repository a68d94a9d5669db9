#include "api/anthropic_request.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace chela::api {
namespace {

Result<ChatRequest> parse(std::string_view text) { return parse_anthropic_request(*json::parse(text)); }

TEST(AnthropicRequest, BlocksBecomeMessagesOfAnyModel) {
  const Result<ChatRequest> request =
      parse(R"({"model": "m", "max_tokens": 9, "stream": true, "temperature": 0.5, "top_p": 1, "top_k": 3,
    "stop_sequences": ["a"], "metadata": {"user_id": "x", "thread_id": "t-1"}, "thinking": {"type": "enabled", "budget_tokens": 5000},
    "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "be kind"}],
    "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
    "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
    "messages": [
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "I call"},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "42"},
          {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}]},
        {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": true}, {"type": "text", "text": "and?"}]}]})");
  ASSERT_TRUE(request) << request.error().text();
  const llm::Request& r = request->request;
  EXPECT_TRUE(request->stream);
  EXPECT_EQ(request->thread_id, "t-1");
  EXPECT_EQ(r.sampling.max_tokens, 9);
  EXPECT_EQ(r.sampling.temperature, 0.5);
  EXPECT_EQ(r.sampling.stop, std::vector<std::string>{"a"});
  EXPECT_EQ(r.sampling.reasoning_effort, "medium");
  EXPECT_EQ(r.sampling.parallel_tool_calls, false);
  EXPECT_EQ(r.extra.find("top_k")->as_int(), 3);
  EXPECT_EQ(r.extra.find("metadata"), nullptr);
  EXPECT_EQ(r.tool_choice_name, "f");
  EXPECT_EQ(r.tools.at(0).name, "f");
  ASSERT_EQ(r.messages.size(), 6u);
  EXPECT_EQ(r.messages[0].role, llm::Role::kSystem);
  EXPECT_EQ(r.messages[0].content, "be brief\nbe kind");
  EXPECT_EQ(r.messages[1].content, "go");
  EXPECT_EQ(r.messages[2].content, "I call");
  EXPECT_EQ(r.messages[2].tool_calls.at(0), (llm::ToolCall{"c1", "f", R"({"x":1})"}));
  EXPECT_EQ(r.messages[3].tool_call_id, "c1");
  EXPECT_EQ(r.messages[3].content, "42");
  EXPECT_EQ(r.messages[4].content, "Error:\nno");
  EXPECT_EQ(r.messages[5].content, "and?");
  ASSERT_EQ(r.messages[5].images.size(), 1u);
  EXPECT_EQ(*r.messages[5].images[0].bytes, "hello");
}

TEST(AnthropicRequest, WhatTheAssistantSaidIsOneText) {
  const auto request =
      parse(R"({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "text", "text": "A"}, {"type": "thinking", "thinking": "hm"},
      {"type": "text", "text": "B"}]},
    {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}]})");
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(request->request.messages[1].content, "AB");
  EXPECT_EQ(request->request.messages[2].content, "one\ntwo");
}

TEST(AnthropicRequest, AFormatOfTheAnswerIsOpenAis) {
  const auto format = [](std::string_view config) {
    return parse(fmt::format(
        R"({{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":"x"}}],"output_config":{}}})",
        config));
  };
  const auto given = format(R"({"format":{"type":"json_schema","schema":{"type":"object"}}})");
  ASSERT_TRUE(given) << given.error().text();
  EXPECT_EQ(json::write(*given->request.sampling.response_format),
            R"({"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}})");
  EXPECT_FALSE(format("{}")->request.sampling.response_format);
  for (const std::string_view bad :
       {R"({"format":{"type":"xml"}})", R"({"format":{"type":"json_schema"}})", R"({"format":7})"})
    EXPECT_EQ(format(bad).error().code, Code::kInvalidArgument) << bad;
}

TEST(AnthropicRequest, ResultsAloneAreNoMessageOfTheUser) {
  const Result<ChatRequest> request =
      parse(R"({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}]})");
  ASSERT_TRUE(request) << request.error().text();
  ASSERT_EQ(request->request.messages.size(), 3u);
  EXPECT_EQ(request->request.messages[2].role, llm::Role::kTool);
  EXPECT_EQ(request->request.messages[2].content, "");
}

TEST(AnthropicRequest, AnEffortIsMeantByTheBudget) {
  const auto effort = [](std::string_view thinking) {
    const auto request = parse(fmt::format(
        R"({{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":"x"}}],"thinking":{}}})",
        thinking));
    return request ? request->request.sampling.reasoning_effort : request.error().message;
  };
  EXPECT_EQ(effort(R"({"type":"enabled","budget_tokens":1024})"), "low");
  EXPECT_EQ(effort(R"({"type":"enabled","budget_tokens":16384})"), "medium");
  EXPECT_EQ(effort(R"({"type":"enabled","budget_tokens":16385})"), "high");
  EXPECT_EQ(effort(R"({"type":"disabled"})"), "");
  EXPECT_TRUE(effort(R"({"type":"enabled"})").starts_with("thinking:"));
}

TEST(AnthropicRequest, SaysWhichFieldIsWrong) {
  const std::string head = R"({"model": "m", "max_tokens": 1, )";
  const std::string hello = R"("messages": [{"role": "user", "content": "x"}], )";
  const std::pair<std::string, std::string> cases[] = {
      {R"({"max_tokens": 1, )" + hello + R"("x": 1})", "model"},
      {R"({"model": "m", )" + hello + R"("x": 1})", "max_tokens"},
      {R"({"model": "m", "max_tokens": 0, )" + hello + R"("x": 1})", "max_tokens"},
      {head + R"("messages": []})", "messages"},
      {head + R"("messages": "x"})", "messages"},
      {head + R"("messages": [{"role": "system", "content": "x"}]})", "messages[0].role"},
      {head + R"("messages": [{"role": "user"}]})", "messages[0].content"},
      {head + R"("messages": [{"role": "user", "content": 1}]})", "messages[0].content"},
      {head + R"("messages": [{"role": "user", "content": [{"type": "document"}]}]})",
       "messages[0].content[0]"},
      {head +
           R"("messages": [{"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}]})",
       "messages[0].content[0]"},
      {head +
           R"("messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://h/x.png"}}]}]})",
       "messages[0].content[0].source"},
      {head + R"("messages": [{"role": "user", "content": [{"type": "tool_result"}]}]})",
       "messages[0].content[0].tool_use_id"},
      {head +
           R"("messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f"}]}]})",
       "messages[0].content[0].input"},
      {head + hello + R"("system": 5})", "system"},
      {head + hello + R"("tools": [{"name": "f"}]})", "tools[0].input_schema"},
      {head + hello + R"("tools": [{"type": "bash_20250124", "name": "bash"}]})", "tools[0].type"},
      {head + hello + R"("tool_choice": {"type": "tool"}})", "tool_choice"},
      {head + hello + R"("stop_sequences": [""]})", "stop_sequences"},
      {head + hello + R"("stop_sequences": "x"})", "stop_sequences"},
      {head + hello + R"("stream": "yes"})", "stream"},
      {head + hello + R"("mcp_servers": [{"url": "https://h"}]})", "mcp_servers"},
  };
  for (const auto& [body, param] : cases) {
    const Result<ChatRequest> request = parse(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, Code::kInvalidArgument) << body;
    EXPECT_EQ(request.error().detail("param"), param) << body;
  }
}

TEST(AnthropicRequest, SoManyStopSequencesAreTaken) {
  const auto with_stops = [](size_t count) {
    json::Value body =
        *json::parse(R"({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]})");
    json::Value stops = json::Value::array();
    for (size_t i = 0; i < count; ++i) stops.push_back(std::to_string(i));
    body.set("stop_sequences", std::move(stops));
    return parse_anthropic_request(body);
  };
  EXPECT_TRUE(with_stops(kMaxStopSequences));
  EXPECT_FALSE(with_stops(kMaxStopSequences + 1));
}

}  // namespace
}  // namespace chela::api
