#include "api/openai_request.h"

#include <gtest/gtest.h>

#include <limits>

#include "api/openai_parameters.h"
#include "base/limits.h"

namespace chela::api {
namespace {

Result<ChatRequest> parse(std::string_view text) { return parse_chat_request(*json::parse(text)); }

TEST(OpenAiRequest, SoManyStopSequencesAreTaken) {
  const auto with_stops = [](size_t count) {
    json::Value body = *json::parse(R"({"model": "m", "messages": [{"role": "user", "content": "x"}]})");
    json::Value stops = json::Value::array();
    for (size_t i = 0; i < count; ++i) stops.push_back(std::to_string(i));
    body.set("stop", std::move(stops));
    return parse_chat_request(body);
  };
  const Result<ChatRequest> most = with_stops(kMaxStopSequences);
  ASSERT_TRUE(most);
  EXPECT_EQ(most->request.sampling.stop.size(), kMaxStopSequences);
  EXPECT_EQ(with_stops(kMaxStopSequences + 1).error().code, Code::kInvalidArgument);
}

TEST(OpenAiRequest, AnAnswerHasALongestLength) {
  const auto asking = [](std::string_view key, std::int64_t tokens) {
    json::Value body = *json::parse(R"({"model": "m", "messages": [{"role": "user", "content": "x"}]})");
    body.set(std::string(key), tokens);
    return parse_chat_request(body);
  };
  for (const std::string_view key : {"max_tokens", "max_completion_tokens"}) {
    EXPECT_EQ(asking(key, kMaxAskedTokens)->request.sampling.max_tokens, kMaxAskedTokens);
    for (const std::int64_t more : {kMaxAskedTokens + 1, std::numeric_limits<std::int64_t>::max()})
      EXPECT_EQ(asking(key, more).error().code, Code::kInvalidArgument) << key;
  }
}

TEST(OpenAiRequest, ReadsEveryField) {
  const Result<ChatRequest> request = parse(R"({
    "model": "m", "stream": true, "stream_options": {"include_usage": true}, "temperature": 0.5, "top_p": 1, "max_completion_tokens": 9,
    "seed": 3, "stop": ["a", "b"], "response_format": {"type": "json_object"}, "metadata": {"thread_id": "t-1"}, "logit_bias": {"1": 2},
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
    "messages": [
      {"role": "developer", "content": "be brief"},
      {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "42"}]})");
  ASSERT_TRUE(request) << request.error().text();
  const llm::Request& r = request->request;
  EXPECT_TRUE(request->stream && request->include_usage);
  EXPECT_EQ(request->thread_id, "t-1");
  EXPECT_EQ(r.sampling.temperature, 0.5);
  EXPECT_EQ(r.sampling.top_p, 1.0);
  EXPECT_EQ(r.sampling.max_tokens, 9);
  EXPECT_EQ(r.sampling.seed, 3);
  EXPECT_EQ(r.sampling.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(r.tool_choice_name, "f");
  ASSERT_EQ(r.messages.size(), 4u);
  EXPECT_EQ(r.messages[0].role, llm::Role::kSystem);
  EXPECT_EQ(r.messages[1].content, "one\ntwo");
  EXPECT_EQ(r.messages[2].tool_calls.at(0), (llm::ToolCall{"c1", "f", "{}"}));
  EXPECT_EQ(r.messages[3].tool_call_id, "c1");
  EXPECT_NE(r.extra.find("logit_bias"), nullptr);
  EXPECT_EQ(r.extra.find("stream"), nullptr);
}

TEST(OpenAiRequest, ImagesComeWithTheTextOfTheUser) {
  const Result<ChatRequest> request = parse(R"({"model": "m", "messages": [{"role": "user", "content": [
    {"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8=", "detail": "low"}}]}]})");
  ASSERT_TRUE(request) << request.error().text();
  const llm::Message& message = request->request.messages.at(0);
  EXPECT_EQ(message.content, "what is it?");
  ASSERT_EQ(message.images.size(), 1u);
  EXPECT_EQ(*message.images[0].bytes, "hello");
}

struct Bad {
  const char* body;
  const char* param;
};

class OpenAiRequestRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(OpenAiRequestRefuses, AndNamesTheField) {
  const Result<ChatRequest> request = parse(GetParam().body);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, Code::kInvalidArgument);
  EXPECT_EQ(request.error().detail("param"), GetParam().param) << request.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, OpenAiRequestRefuses,
    ::testing::Values(
        Bad{R"({})", "model"}, Bad{R"({"model": " m"})", "model"}, Bad{R"({"model": "a\u0001"})", "model"},
        Bad{R"({"model": "m"})", "messages"}, Bad{R"({"model": "m", "messages": []})", "messages"},
        Bad{R"({"model": "m", "messages": "hi"})", "messages"},
        Bad{R"({"model": "m", "messages": [1]})", "messages[0]"},
        Bad{R"({"model": "m", "messages": [{"role": "robot", "content": "x"}]})", "messages[0].role"},
        Bad{R"({"model": "m", "messages": [{"role": "user"}]})", "messages[0].content"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": 5}]})", "messages[0].content"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
            "messages[0].content[0].image_url"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": [{"type": "input_audio"}]}]})",
            "messages[0].content[0]"},
        Bad{R"({"model": "m", "messages": [{"role": "assistant", "content": [{"type": "image_url", "image_url": "data:image/png;base64,YQ=="}]}]})",
            "messages[0].content[0]"},
        Bad{R"({"model": "m", "messages": [{"role": "tool", "content": "x"}]})", "messages[0].tool_call_id"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": "yes"})", "stream"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "n": 2})", "n"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "temperature": "hot"})",
            "temperature"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 0})",
            "max_tokens"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "max_completion_tokens": 0})",
            "max_completion_tokens"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "presence_penalty": "a"})",
            "presence_penalty"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "frequency_penalty": []})",
            "frequency_penalty"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "seed": 1.5})", "seed"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "reasoning_effort": 3})",
            "reasoning_effort"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "response_format": "json"})",
            "response_format"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "parallel_tool_calls": 1})",
            "parallel_tool_calls"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "tool_choice": {"type": "function", "function": {}}})",
            "tool_choice.function.name"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "stop": ["1", "2", "3", "4", "5"]})",
            "stop"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "stop": ""})", "stop"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "stop": [1]})", "stop"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [{"type": "web"}]})",
            "tools[0].type"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}]})",
            "tools[0].function"},
        Bad{R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "tool_choice": "maybe"})",
            "tool_choice"}));

}  // namespace
}  // namespace chela::api
