#include "llm/anthropic/stream_reader.h"

#include "base/limits.h"
#include "testing/answer_reading.h"

namespace chela::llm::anthropic {
namespace {

std::string sse(std::initializer_list<std::string_view> events) {
  std::string out;
  for (const std::string_view event : events) out += fmt::format("event: x\ndata: {}\n\n", event);
  return out;
}

constexpr std::string_view kStart =
    R"({"type":"message_start","message":{"model":"claude-x","usage":{"input_tokens":3,"cache_creation_input_tokens":4,)"
    R"("cache_read_input_tokens":5,"output_tokens":1}}})";
constexpr std::string_view kTextStart =
    R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})";
constexpr std::string_view kHello =
    R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hell\u00f6"}})";
constexpr std::string_view kEnd =
    R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}})";
constexpr std::string_view kStop = R"({"type":"message_stop"})";

TEST(AnthropicStream, TextAndUsage) {
  const Answer answer =
      testing::answer_of<StreamReader>(sse({kStart, R"({"type":"ping"})", kTextStart, kHello,
                                            R"({"type":"content_block_stop","index":0})", kEnd, kStop}));
  EXPECT_EQ(answer.text, "Hell\u00f6");
  EXPECT_EQ(answer.model, "claude-x");
  EXPECT_EQ(answer.usage.input_tokens, 12);
  EXPECT_EQ(answer.usage.cached_tokens, 5);
  EXPECT_EQ(answer.usage.cache_write_tokens, 4);
  EXPECT_EQ(answer.usage.output_tokens, 9);
  EXPECT_EQ(answer.finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer.provider_data, "");
}

TEST(AnthropicStream, ThoughtsAndParallelCalls) {
  const Answer answer = testing::answer_of<StreamReader>(sse(
      {kStart,
       R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"let "}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"me"}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}})",
       R"({"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}})",
       R"({"type":"content_block_start","index":2,"content_block":{"type":"text","text":"\u00e9"}})",
       R"({"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}})",
       R"({"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}})",
       R"({"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}})",
       R"({"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":":1}"}})",
       R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})", kStop}));
  EXPECT_EQ(answer.reasoning, "let me");
  EXPECT_EQ(answer.tool_calls, (std::vector<ToolCall>{{"a", "f", R"({"x":1})"}, {"b", "g", "{}"}}));
  EXPECT_EQ(answer.finish_reason, FinishReason::kToolCalls);
  EXPECT_EQ(
      answer.provider_data,
      R"({"anthropic":[{"type":"thinking","thinking":"let me","signature":"sig"},{"type":"redacted_thinking","data":"xyz"},)"
      R"({"text_bytes":2},{"call":true},{"call":true}]})");
}

TEST(AnthropicStream, AWholeMessage) {
  const Answer answer = testing::answer_of<StreamReader>(
      R"({"type":"message","model":"m","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}},)"
      R"({"type":"web_search_tool_result"}],"stop_reason":"max_tokens","usage":{"input_tokens":1,"output_tokens":2}})");
  EXPECT_EQ(answer.text, "Hi");
  EXPECT_EQ(answer.tool_calls, (std::vector<ToolCall>{{"a", "f", R"({"x":1})"}}));
  EXPECT_EQ(answer.finish_reason, FinishReason::kLength);
}

TEST(AnthropicStream, ReasonsToStop) {
  const auto reason = [](std::string_view name) {
    const std::string end = fmt::format(R"({{"type":"message_delta","delta":{{"stop_reason":"{}"}}}})", name);
    return testing::answer_of<StreamReader>(sse({kStart, kTextStart, kHello, end})).finish_reason;
  };
  EXPECT_EQ(reason("stop_sequence"), FinishReason::kStop);
  EXPECT_EQ(reason("max_tokens"), FinishReason::kLength);
  EXPECT_EQ(reason("model_context_window_exceeded"), FinishReason::kLength);
  EXPECT_EQ(reason("refusal"), FinishReason::kContentFilter);
  EXPECT_EQ(reason("pause_turn"), FinishReason::kStop);
  EXPECT_EQ(reason("invented"), FinishReason::kUnknown);
}

TEST(AnthropicStream, ErrorsAreTyped) {
  const auto error = [](std::string_view type, std::string_view message) {
    return testing::error_of<StreamReader>(
        sse({kStart, kHello,
             fmt::format(R"({{"type":"error","error":{{"type":"{}","message":"{}"}}}})", type, message)}));
  };
  EXPECT_EQ(error("overloaded_error", "busy").code, Code::kUpstream);
  EXPECT_EQ(error("rate_limit_error", "slow").code, Code::kRateLimited);
  EXPECT_EQ(error("authentication_error", "key sk-very-secret").code, Code::kUnauthenticated);
  EXPECT_EQ(error("permission_error", "no").code, Code::kPermissionDenied);
  EXPECT_EQ(error("not_found_error", "no").code, Code::kNotFound);
  const Error context = error("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum");
  EXPECT_EQ(context.code, Code::kInvalidArgument);
  EXPECT_EQ(context.detail("reason"), "context_length");
  EXPECT_EQ(
      testing::error_of<StreamReader>(R"({"type":"error","error":{"type":"api_error","message":"x"}})").code,
      Code::kUpstream);
  EXPECT_EQ(testing::error_of<StreamReader>(R"({"error":"proxy"})").message,
            "test:80 reported an error: proxy");
}

TEST(AnthropicStream, CutsAreUpstreamErrors) {
  const std::string whole = sse({kStart, kTextStart, kHello, kEnd});
  testing::expect_cuts_are_upstream<StreamReader>(whole, whole.size());
}

TEST(AnthropicStream, BlocksHaveALimit) {
  testing::expect_a_limit<StreamReader>(
      "",
      [](size_t n) {
        return sse({fmt::format(
            R"({{"type":"content_block_start","index":{},"content_block":{{"type":"text"}}}})", n)});
      },
      2 * kMaxAnswerCalls);
}

}  // namespace
}  // namespace chela::llm::anthropic
