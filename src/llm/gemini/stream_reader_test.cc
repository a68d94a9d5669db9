#include "llm/gemini/stream_reader.h"

#include "base/limits.h"
#include "testing/answer_reading.h"

namespace chela::llm::gemini {
namespace {

std::string sse(std::initializer_list<std::string_view> events) {
  std::string out;
  for (const std::string_view event : events) out += fmt::format("data: {}\r\n\r\n", event);
  return out;
}
std::string parts(std::string_view list) {
  return fmt::format(R"({{"candidates":[{{"content":{{"parts":[{}]}}}}]}})", list);
}
constexpr std::string_view kStop =
    R"({"candidates":[{"finishReason":"STOP"}],"modelVersion":"g","usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":4,)"
    R"("thoughtsTokenCount":2,"cachedContentTokenCount":5}})";

TEST(GeminiStream, TextThoughtsAndUsage) {
  const std::string text = parts(R"({"text":"Hell\u00f6"})");
  const Answer answer =
      testing::answer_of<StreamReader>(sse({parts(R"({"text":"hm","thought":true})"), text, kStop}));
  EXPECT_EQ(answer.text, "Hell\u00f6");
  EXPECT_EQ(answer.reasoning, "hm");
  EXPECT_EQ(answer.model, "g");
  EXPECT_EQ(answer.usage.input_tokens, 9);
  EXPECT_EQ(answer.usage.output_tokens, 6);
  EXPECT_EQ(answer.usage.cached_tokens, 5);
  EXPECT_EQ(answer.finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer.provider_data, "");
  // Without alt=sse the events are an array, or there is one.
  EXPECT_EQ(testing::answer_of<StreamReader>("[" + text + ",\n" + std::string(kStop) + "]").text,
            "Hell\u00f6");
  EXPECT_EQ(testing::answer_of<StreamReader>(
                R"({"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"MAX_TOKENS"}]})")
                .finish_reason,
            FinishReason::kLength);
}

TEST(GeminiStream, ParallelCallsKeepIdsAndSignatures) {
  const Answer answer = testing::answer_of<StreamReader>(sse(
      {parts(
           R"({"functionCall":{"id":"1","name":"f","args":{"x":1}},"thoughtSignature":"s"},{"functionCall":{"name":"g"}})"),
       kStop}));
  EXPECT_EQ(answer.tool_calls, (std::vector<ToolCall>{{"1", "f", R"({"x":1})"}, {"", "g", "{}"}}));
  EXPECT_EQ(answer.finish_reason, FinishReason::kToolCalls);
  EXPECT_EQ(answer.provider_data, R"({"gemini":[{"id":"1","signature":"s"},{}]})");
  EXPECT_EQ(
      testing::answer_of<StreamReader>(sse({parts(R"({"functionCall":{"name":"g"}})"), kStop})).provider_data,
      "");
}

TEST(GeminiStream, RefusalsAndErrors) {
  EXPECT_EQ(
      testing::answer_of<StreamReader>(sse({R"({"promptFeedback":{"blockReason":"SAFETY"}})"})).finish_reason,
      FinishReason::kContentFilter);
  EXPECT_EQ(testing::answer_of<StreamReader>(sse({R"({"candidates":[{"finishReason":"RECITATION"}]})"}))
                .finish_reason,
            FinishReason::kContentFilter);
  EXPECT_EQ(
      testing::error_of<StreamReader>(sse({R"({"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]})"}))
          .code,
      Code::kUpstream);
  const Error slow = testing::error_of<StreamReader>(
      sse({parts(R"({"text":"x"})"),
           R"({"error":{"code":429,"message":"slow","details":[{"retryDelay":"2s"}]}})"}));
  EXPECT_EQ(slow.code, Code::kRateLimited);
  EXPECT_EQ(slow.retry_after, 2s);
  EXPECT_EQ(testing::error_of<StreamReader>(R"([{"error":{"code":503,"message":"sk-very-secret"}}])").code,
            Code::kUpstream);
}

TEST(GeminiStream, CutsAndLimits) {
  const std::string whole = sse({parts(R"({"text":"x"})"), kStop});
  testing::expect_cuts_are_upstream<StreamReader>(whole, whole.size() - 1);
  const std::string call = sse({parts(R"({"functionCall":{"name":"g"}})")});
  testing::expect_a_limit<StreamReader>("", [&call](size_t) { return call; }, kMaxAnswerCalls);
}

}  // namespace
}  // namespace chela::llm::gemini
