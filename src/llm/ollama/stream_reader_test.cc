#include "llm/ollama/stream_reader.h"

#include "base/limits.h"
#include "testing/answer_reading.h"

namespace chela::llm::ollama {
namespace {

constexpr std::string_view kDone =
    R"({"model":"q","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3})"
    "\n";

TEST(OllamaStream, TextThoughtsCallsAndUsage) {
  const Answer answer = testing::answer_of<StreamReader>(
      std::string(
          R"({"model":"q","message":{"role":"assistant","content":"","thinking":"hm"},"done":false})") +
      "\n" + R"({"message":{"content":"Hell\u00f6"},"done":false})" + "\r\n\n" +
      R"({"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"id":"c","function":{"name":"g"}},7]}})" +
      "\n" + std::string(kDone));
  EXPECT_EQ(answer.text, "Hell\u00f6");
  EXPECT_EQ(answer.reasoning, "hm");
  EXPECT_EQ(answer.model, "q");
  EXPECT_EQ(answer.tool_calls, (std::vector<ToolCall>{{"", "f", R"({"x":1})"}, {"c", "g", "{}"}}));
  EXPECT_EQ(answer.finish_reason, FinishReason::kToolCalls);
  EXPECT_EQ(answer.usage.input_tokens, 7);
  EXPECT_EQ(answer.usage.output_tokens, 3);
  EXPECT_EQ(
      testing::answer_of<StreamReader>(R"({"message":{"content":"x"},"done":true,"done_reason":"length"})")
          .finish_reason,
      FinishReason::kLength);
}

TEST(OllamaStream, ErrorsAndCuts) {
  const std::string text = "{\"message\":{\"content\":\"x\"}}\n";
  const Error error =
      testing::error_of<StreamReader>(text + R"({"error":"the runner died; key sk-very-secret"})");
  EXPECT_EQ(error.code, Code::kUpstream);
  EXPECT_EQ(error.message, "test:80 reported an error: the runner died; key [redacted]");
  const std::string whole = text + std::string(kDone);
  testing::expect_cuts_are_upstream<StreamReader>(whole, whole.size() - 1);
  EXPECT_EQ(testing::error_of<StreamReader>("<html>").code, Code::kUpstream);
}

TEST(OllamaStream, CallsHaveALimit) {
  testing::expect_a_limit<StreamReader>(
      "", [](size_t) { return "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]}}\n"; },
      kMaxAnswerCalls);
}

}  // namespace
}  // namespace chela::llm::ollama
