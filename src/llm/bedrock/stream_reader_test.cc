#include "llm/bedrock/stream_reader.h"

#include "base/limits.h"
#include "testing/answer_reading.h"
#include "testing/scripted_wire.h"

namespace chela::llm::bedrock {
namespace {

using testing::Wire;

std::string stream(const testing::Reply& reply) {
  std::string out;
  for (const std::string& event : testing::events_over(Wire::kBedrock, reply, {})) out += event;
  return out;
}

TEST(BedrockStream, TextUsageAndReasons) {
  const Answer answer = testing::answer_of<StreamReader>(stream(
      {.text = "Hell\u00f6 you", .usage = testing::ScriptedUsage{.input = 9, .output = 4, .cached = 3}}));
  EXPECT_EQ(answer.text, "Hell\u00f6 you");
  EXPECT_EQ(answer.usage.input_tokens, 9);
  EXPECT_EQ(answer.usage.cached_tokens, 3);
  EXPECT_EQ(answer.usage.output_tokens, 4);
  EXPECT_EQ(answer.finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer.provider_data, "");
  for (const auto& [word, reason] :
       {std::pair("max_tokens", FinishReason::kLength), std::pair("stop_sequence", FinishReason::kStop),
        std::pair("guardrail_intervened", FinishReason::kContentFilter),
        std::pair("model_context_window_exceeded", FinishReason::kLength),
        std::pair("invented", FinishReason::kUnknown)})
    EXPECT_EQ(testing::answer_of<StreamReader>(stream({.text = "x", .finish_reason = word})).finish_reason,
              reason)
        << word;
}

TEST(BedrockStream, ThoughtsAndParallelCalls) {
  const Answer answer =
      testing::answer_of<StreamReader>(stream({.text = "\u00e9",
                                               .reasoning = "let me",
                                               .calls = {{"a", "f", R"({"x":1})"}, {"b", "g", ""}},
                                               .fragment_bytes = 2}));
  EXPECT_EQ(answer.reasoning, "let me");
  EXPECT_EQ(answer.tool_calls, (std::vector<ToolCall>{{"a", "f", R"({"x":1})"}, {"b", "g", "{}"}}));
  EXPECT_EQ(
      answer.provider_data,
      R"({"bedrock":[{"reasoningContent":{"reasoningText":{"text":"let me","signature":"signed:let me"}}},)"
      R"({"text_bytes":2},{"call":true},{"call":true}]})");
}

TEST(BedrockStream, CutsAreUpstreamErrors) {
  const std::string whole = stream({.text = "a b"});
  const std::vector<std::string> events = testing::events_over(Wire::kBedrock, {.text = "a b"}, {});
  testing::expect_cuts_are_upstream<StreamReader>(whole, whole.size() - events.back().size());
  EXPECT_EQ(testing::error_of<StreamReader>("{\"message\":\"no event stream\"}").code, Code::kUpstream);
}

TEST(BedrockStream, ExceptionsAreTyped) {
  const auto error = [](std::string_view name, std::string_view message) {
    return testing::error_of<StreamReader>(stream({.text = "x", .done = false}) +
                                           testing::bedrock_exception(name, message));
  };
  EXPECT_EQ(error("throttlingException", "slow").code, Code::kRateLimited);
  EXPECT_EQ(error("modelStreamErrorException", "key sk-very-secret").code, Code::kUpstream);
  EXPECT_EQ(error("internalServerException", "x").code, Code::kUpstream);
  EXPECT_EQ(error("modelTimeoutException", "x").code, Code::kTimeout);
  const Error context = error("validationException", "Input is too long for requested model.");
  EXPECT_EQ(context.code, Code::kInvalidArgument);
  EXPECT_EQ(context.detail("reason"), "context_length");
}

TEST(BedrockStream, WhatTheCacheTookIsPartOfThePrompt) {
  const Usage usage =
      testing::answer_of<StreamReader>(
          stream({.events = {*json::parse(R"({"type":"messageStop","stopReason":"end_turn"})"),
                             *json::parse(R"({"type":"metadata","usage":{"inputTokens":3,"outputTokens":2,)"
                                          R"("cacheReadInputTokens":4,"cacheWriteInputTokens":5}})")}}))
          .usage;
  EXPECT_EQ(usage.input_tokens, 12);
  EXPECT_EQ(usage.cached_tokens, 4);
  EXPECT_EQ(usage.cache_write_tokens, 5);
}

TEST(BedrockStream, CallsAndBlocksHaveALimit) {
  const auto pieces = [](std::string_view text) {
    return [event = *json::parse(text)](size_t n) mutable {
      event.set("contentBlockIndex", n);
      std::string out;
      for (const std::string& each : testing::events_over(Wire::kBedrock, {.events = {event}}, {}))
        out += each;
      return out;
    };
  };
  testing::expect_a_limit<StreamReader>(
      "", pieces(R"({"type":"contentBlockStart","start":{"toolUse":{"name":"f"}}})"), kMaxAnswerCalls);
  testing::expect_a_limit<StreamReader>("", pieces(R"({"type":"contentBlockDelta","delta":{"text":"x"}})"),
                                        2 * kMaxAnswerCalls);
}

}  // namespace
}  // namespace chela::llm::bedrock
