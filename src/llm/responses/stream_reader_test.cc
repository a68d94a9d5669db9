#include "llm/responses/stream_reader.h"

#include "base/limits.h"
#include "testing/answer_reading.h"

namespace chela::llm::responses {
namespace {

std::string sse(std::initializer_list<std::string_view> events) {
  std::string out;
  for (const std::string_view event : events) out += fmt::format("event: x\ndata: {}\n\n", event);
  return out;
}
constexpr std::string_view kCreated =
    R"({"type":"response.created","response":{"model":"gpt-x","status":"in_progress"}})";
constexpr std::string_view kText =
    R"({"type":"response.output_text.delta","output_index":1,"delta":"Hell\u00f6"})";
constexpr std::string_view kDone =
    R"({"type":"response.completed","response":{"model":"gpt-x-1","status":"completed","error":null,)"
    R"("usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":5},"output_tokens":4}}})";

TEST(ResponsesStream, TextThoughtsAndUsage) {
  const Answer answer = testing::answer_of<StreamReader>(sse(
      {kCreated, R"({"type":"response.reasoning_summary_part.added"})",
       R"({"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"one"})",
       R"({"type":"response.reasoning_summary_part.added"})",
       R"({"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"two"})",
       R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","encrypted_content":"e"}})",
       kText, R"({"type":"response.refusal.delta","output_index":1,"delta":" no"})", kDone}));
  EXPECT_EQ(answer.text, "Hell\u00f6 no");
  EXPECT_EQ(answer.reasoning, "one\n\ntwo");
  EXPECT_EQ(answer.model, "gpt-x-1");
  EXPECT_EQ(answer.usage.input_tokens, 9);
  EXPECT_EQ(answer.usage.cached_tokens, 5);
  EXPECT_EQ(answer.usage.output_tokens, 4);
  EXPECT_EQ(answer.finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer.provider_data, "");  // it called nothing
}

TEST(ResponsesStream, ParallelCallsAndWhatTheyCameFrom) {
  const Answer answer = testing::answer_of<StreamReader>(sse(
      {kCreated,
       R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e","status":"x"}})",
       R"({"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":""}})",
       R"({"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"b","name":"g"}})",
       R"({"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"x\""})",
       R"({"type":"response.function_call_arguments.delta","output_index":1,"delta":":1}"})",
       R"({"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"b","name":"g","arguments":"{\"y\":2}"}})",
       kDone}));
  EXPECT_EQ(answer.tool_calls, (std::vector<ToolCall>{{"a", "f", R"({"x":1})"}, {"b", "g", R"({"y":2})"}}));
  EXPECT_EQ(answer.finish_reason, FinishReason::kToolCalls);
  EXPECT_EQ(answer.provider_data,
            R"({"responses":[{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e"}]})");
}

TEST(ResponsesStream, AWholeResponse) {
  const Answer answer = testing::answer_of<StreamReader>(
      R"({"object":"response","model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[)"
      R"({"type":"reasoning","summary":[{"text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"Hi"}]}]})");
  EXPECT_EQ(answer.text, "Hi");
  EXPECT_EQ(answer.reasoning, "hm");
  EXPECT_EQ(answer.finish_reason, FinishReason::kLength);
  EXPECT_EQ(
      testing::answer_of<StreamReader>(
          R"({"object":"response","status":"completed","output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]})")
          .tool_calls,
      (std::vector<ToolCall>{{"a", "f", "{}"}}));
}

TEST(ResponsesStream, ErrorsAreTyped) {
  const auto failed = [](std::string_view code, std::string_view message) {
    return testing::error_of<StreamReader>(sse(
        {kCreated, kText,
         fmt::format(
             R"({{"type":"response.failed","response":{{"status":"failed","error":{{"code":"{}","message":"{}"}}}}}})",
             code, message)}));
  };
  EXPECT_EQ(failed("rate_limit_exceeded", "slow").code, Code::kRateLimited);
  EXPECT_EQ(failed("server_error", "key sk-very-secret").code, Code::kUpstream);
  EXPECT_EQ(failed("context_length_exceeded", "long").detail("reason"), "context_length");
  EXPECT_EQ(
      testing::error_of<StreamReader>(sse({R"({"type":"error","code":"invalid_api_key","message":"x"})"}))
          .code,
      Code::kUnauthenticated);
  EXPECT_EQ(
      testing::error_of<StreamReader>(R"({"error":{"message":"x","type":"invalid_request_error"}})").code,
      Code::kInvalidArgument);
  EXPECT_EQ(testing::error_of<StreamReader>(
                sse({R"({"type":"response.failed","response":{"status":"cancelled"}})"}))
                .code,
            Code::kUpstream);
}

TEST(ResponsesStream, CutsAndLimits) {
  const std::string whole = sse({kCreated, kText, kDone});
  testing::expect_cuts_are_upstream<StreamReader>(whole, whole.size());
  testing::expect_a_limit<StreamReader>(
      "",
      [](size_t n) {
        return sse({fmt::format(
            R"({{"type":"response.output_item.added","output_index":{},"item":{{"type":"function_call"}}}})",
            n)});
      },
      kMaxAnswerCalls);
}

}  // namespace
}  // namespace chela::llm::responses
