#include "llm/openai/stream_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "base/limits.h"
#include "base/utf8.h"

namespace chela::llm::openai {
namespace {

const wire::ErrorContext kErrors{.server = "test:80", .secrets = {"sk-very-secret"}};

struct Read {
  Result<Answer> answer;
  std::string streamed;
  bool passed_on = false;
};

// Feeds the body in pieces that end at the given places.
Read read(std::string_view body, const std::vector<size_t>& cuts = {}) {
  std::string streamed;
  StreamReader reader(kErrors, [&streamed](const Delta& delta) {
    EXPECT_TRUE(utf8::valid(delta.text));
    streamed += delta.text;
  });
  size_t from = 0;
  Result<> fed;
  for (size_t i = 0; i <= cuts.size() && fed; ++i) {
    const size_t to = i < cuts.size() ? std::max(from, cuts[i]) : body.size();
    fed = reader.feed(body.substr(from, to - from));
    from = to;
  }
  Result<Answer> answer = fed ? reader.finish() : Result<Answer>(fail(fed.error()));
  return {.answer = std::move(answer), .streamed = streamed, .passed_on = reader.streamed()};
}

std::string sse(std::initializer_list<std::string_view> chunks) {
  std::string out;
  for (const std::string_view chunk : chunks) out += fmt::format("data: {}\n\n", chunk);
  return out;
}

std::string delta(std::string_view fields) {
  return fmt::format(R"({{"choices":[{{"index":0,"delta":{{{}}}}}]}})", fields);
}
std::string calls(std::string_view fragments) {
  return delta(fmt::format(R"("tool_calls":[{}])", fragments));
}
const std::string kStop = R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})";

std::vector<ToolCall> calls_of(std::initializer_list<std::string> chunks) {
  std::string body;
  for (const std::string& chunk : chunks) body += fmt::format("data: {}\n\n", chunk);
  body += sse({kStop, "[DONE]"});
  Read got = read(body);
  EXPECT_TRUE(got.answer) << got.answer.error().text();
  if (got.answer && !got.answer->tool_calls.empty())
    EXPECT_EQ(got.answer->finish_reason, FinishReason::kToolCalls);
  return got.answer ? got.answer->tool_calls : std::vector<ToolCall>{};
}

TEST(StreamReader, UsageThatCannotBeIsNoUsage) {
  const Read got = read(sse(
      {delta(R"("content":"a")"),
       R"({"choices":[],"usage":{"prompt_tokens":9000000000000000000,"completion_tokens":-4,"prompt_tokens_details":{"cached_tokens":9000000000000000000}}})",
       kStop, "[DONE]"}));
  ASSERT_TRUE(got.answer);
  EXPECT_LE(got.answer->usage.input_tokens, 1'000'000'000'000);
  EXPECT_LE(got.answer->usage.cached_tokens, got.answer->usage.input_tokens);
  EXPECT_EQ(got.answer->usage.output_tokens, 0);
}

TEST(StreamReader, ReadsTextReasoningUsageAndModel) {
  const Read got = read(sse(
      {R"({"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})",
       delta(R"("reasoning_content":"hm")"), delta(R"("reasoning":", so")"), delta(R"("content":"Hel")"),
       delta(R"("content":"lo")"), R"({"choices":[{"index":0,"delta":{},"finish_reason":"length"}]})",
       R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}})",
       "[DONE]"}));
  ASSERT_TRUE(got.answer);
  EXPECT_EQ(got.answer->text, "Hello");
  EXPECT_EQ(got.streamed, "Hello");
  EXPECT_EQ(got.answer->reasoning, "hm, so");
  EXPECT_EQ(got.answer->model, "m-1");
  EXPECT_EQ(got.answer->finish_reason, FinishReason::kLength);
  EXPECT_EQ(got.answer->usage.input_tokens, 10);
  EXPECT_EQ(got.answer->usage.output_tokens, 2);
  EXPECT_EQ(got.answer->usage.cached_tokens, 8);
}

TEST(StreamReader, ParallelCallsComeInFragments) {
  const std::vector<ToolCall> want{{"c1", "get_weather", R"({"city":"Bern"})"},
                                   {"c2", "time", R"({"zone":"UTC"})"}};
  EXPECT_EQ(
      calls_of(
          {calls(R"({"index":0,"id":"c1","function":{"name":"get_"}})"),
           calls(R"({"index":0,"function":{"name":"weather"}})"),
           calls(R"({"index":1,"id":"c2","function":{"name":"time","arguments":""}})"),
           calls(
               R"({"index":0,"function":{"arguments":"{\"city\":"}},{"index":1,"function":{"arguments":"{\"zone\":"}})"),
           calls(
               R"({"index":1,"function":{"arguments":"\"UTC\"}"}},{"index":0,"function":{"arguments":"\"Bern\"}"}})")}),
      want);
}

TEST(StreamReader, CallsOfServersWithAnAccent) {
  const std::vector<ToolCall> want{{"c1", "a", R"({"x":1})"}, {"c2", "b", "{}"}};
  // Id and name repeated in each fragment.
  EXPECT_EQ(calls_of({calls(R"({"index":0,"id":"c1","function":{"name":"a","arguments":"{\"x\""}})"),
                      calls(R"({"index":0,"id":"c1","function":{"name":"a","arguments":":1}"}})"),
                      calls(R"({"index":1,"id":"c2","function":{"name":"b","arguments":"{}"}})")}),
            want);
  // No index, told apart by id.
  EXPECT_EQ(calls_of({calls(R"({"id":"c1","function":{"name":"a"}})"),
                      calls(R"({"id":"c2","function":{"name":"b"}})"),
                      calls(R"({"id":"c1","function":{"arguments":"{\"x\":1}"}})"),
                      calls(R"({"id":"c2","function":{"arguments":"{}"}})")}),
            want);
  // All with index 0; arguments as an object; no arguments at all.
  EXPECT_EQ(calls_of({calls(R"({"index":0,"id":"c1","function":{"name":"a","arguments":{"x":1}}})"),
                      calls(R"({"index":0,"id":"c2","function":{"name":"b"}})")}),
            want);
  // Neither index nor id.
  const std::vector<ToolCall> nameless{{"", "a", R"({"x":1})"}, {"", "b", "{}"}};
  EXPECT_EQ(
      calls_of({calls(
          R"({"function":{"name":"a","arguments":"{\"x\":1}"}},{"function":{"name":"b","arguments":"{}"}})")}),
      nameless);
  EXPECT_EQ(calls_of({calls(R"({"function":{"name":"a","arguments":"{\"x\""}})"),
                      calls(R"({"function":{"arguments":":1}"}})"),
                      calls(R"({"function":{"name":"b","arguments":"{}"}})")}),
            nameless);
  // A single object, without the wrapper; an index that is far away.
  EXPECT_EQ(
      calls_of({delta(R"("tool_calls":{"index":999999999999,"id":"c1","name":"a","arguments":{"x":1}})")}),
      (std::vector<ToolCall>{{"c1", "a", R"({"x":1})"}}));
  // A fragment that says nothing is no call.
  EXPECT_EQ(calls_of({calls(R"({"index":0})"), calls("7")}), std::vector<ToolCall>{});
}

TEST(StreamReader, OtherForms) {
  const Read whole = read(
      "\n \n"
      R"({"model":"m","choices":[{"message":{"content":"Hi","tool_calls":[)"
      R"({"id":"1","function":{"name":"f","arguments":"{}"}},{"id":"1","function":{"name":"f","arguments":""}}]},)"
      R"("finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})");
  ASSERT_TRUE(whole.answer);
  EXPECT_EQ(whole.answer->text, "Hi");
  EXPECT_EQ(whole.streamed, "Hi");
  EXPECT_EQ(whole.answer->tool_calls, (std::vector<ToolCall>{{"1", "f", "{}"}, {"1", "f", "{}"}}));
  const Read parts = read(sse(
      {delta(
           R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"x"}])"),
       kStop}));
  ASSERT_TRUE(parts.answer);  // [DONE] is missing, the finish reason is there
  EXPECT_EQ(parts.answer->text, "x");
  EXPECT_EQ(parts.answer->reasoning, "t");
  const Read no_reason = read(sse({delta(R"("content":"x")"), "[DONE]"}));
  ASSERT_TRUE(no_reason.answer);
  EXPECT_EQ(no_reason.answer->finish_reason, FinishReason::kStop);
  const Read other_choice = read(
      sse({R"({"choices":[{"index":1,"delta":{"content":"no"}}]})", delta(R"("content":"yes")"), kStop}));
  ASSERT_TRUE(other_choice.answer);
  EXPECT_EQ(other_choice.answer->text, "yes");
}

TEST(StreamReader, InvalidBytesBecomeReplacementCharacters) {
  const Read got = read(sse({delta("\"content\":\"a\xff\xc3z\""), kStop}));
  ASSERT_TRUE(got.answer) << got.answer.error().text();
  EXPECT_EQ(got.answer->text, "a\uFFFD\uFFFDz");
}

TEST(StreamReader, CutsAndGarbageAreUpstreamErrors) {
  for (const std::string& body :
       {std::string(), sse({delta(R"("content":"x")")}), sse({"[DONE]"}), sse({"{nonsense"}), sse({"7"}),
        std::string("<html>down</html>"), std::string(R"({"choices":[{"mess)"), std::string("{}"),
        sse({R"({"choices":[{"index":0,"delta":{},"finish_reason":"error"}]})"})}) {
    const Read got = read(body);
    ASSERT_FALSE(got.answer) << body;
    EXPECT_EQ(got.answer.error().code, Code::kUpstream) << body;
  }
  EXPECT_TRUE(read(sse({delta(R"("content":"x")")})).passed_on);
}

TEST(StreamReader, ErrorObjectsInsideTheStream) {
  const auto error = [](std::string_view text) {
    return read(sse({delta(R"("content":"x")"), text})).answer.error();
  };
  EXPECT_EQ(error(R"({"error":{"message":"slow down","code":429}})").code, Code::kRateLimited);
  EXPECT_EQ(error(R"({"error":{"message":"over","type":"overloaded_error"}})").code, Code::kUpstream);
  EXPECT_EQ(error(R"({"error":"just text"})").message, "test:80 reported an error: just text");
  const Error context = error(R"({"error":{"message":"x","code":"context_length_exceeded"}})");
  EXPECT_EQ(context.code, Code::kInvalidArgument);
  EXPECT_EQ(context.detail("reason"), "context_length");
  const Read named = read(
      "event: error\ndata: {\"message\":\"bad key sk-very-secret\",\"type\":\"authentication_error\"}\n\n");
  EXPECT_EQ(named.answer.error().code, Code::kUnauthenticated);
  EXPECT_EQ(named.answer.error().message.find("sk-very-secret"), std::string::npos);
}

TEST(StreamReader, RefusesAnAnswerThatIsTooLarge) {
  const std::string piece =
      fmt::format("data: {}\n\n", delta(fmt::format(R"("content":"{}")", std::string(1024 * 1024, 'x'))));
  StreamReader reader(kErrors, {});
  Result<> fed;
  size_t pieces = 0;
  while (fed && pieces < 100) {
    fed = reader.feed(piece);
    ++pieces;
  }
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().detail("reason"), "answer_too_large");
  EXPECT_EQ(pieces, kMaxModelAnswerBytes / (1024 * 1024) + 1);
  // A flood of empty calls, and one whole document.
  StreamReader flood(kErrors, {});
  fed = {};
  size_t taken = 0;
  for (; fed && taken < 100'000; ++taken)
    fed = flood.feed(fmt::format("data: {}\n\n", calls(fmt::format(R"({{"index":{}}})", taken))));
  EXPECT_FALSE(fed);
  EXPECT_EQ(taken, kMaxAnswerCalls + 1);
  EXPECT_FALSE(read("{\"a\":\"" + std::string(kMaxModelAnswerBytes, 'x') + "\"}").answer);
}

TEST(StreamReader, HowTheBytesAreCutDoesNotMatter) {
  const std::string body =
      ": comment\r\n\r\n" +
      sse({delta("\"content\":\"h\u00e9llo \U0001F99E\""), delta(R"("reasoning":"\u00fc")"),
           calls(R"({"index":0,"id":"c1","function":{"name":"f","arguments":"{\"\u20ac\":"}})"),
           calls(R"({"index":0,"function":{"arguments":"1}"}})"), delta(R"("content":" \ud83e\udd9e.")"),
           kStop, R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}})", "[DONE]"});
  const Read whole = read(body);
  ASSERT_TRUE(whole.answer);
  ASSERT_EQ(whole.answer->text, "h\u00e9llo \U0001F99E \U0001F99E.");
  EXPECT_TRUE(rc::check("any cuts", [&] {
    auto cuts = *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, body.size()));
    std::ranges::sort(cuts);
    const Read got = read(body, cuts);
    RC_ASSERT(got.answer.has_value());
    RC_ASSERT(got.answer->text == whole.answer->text);
    RC_ASSERT(got.answer->reasoning == whole.answer->reasoning);
    RC_ASSERT(got.answer->tool_calls == whole.answer->tool_calls);
    RC_ASSERT(got.answer->usage.input_tokens == 3);
    RC_ASSERT(got.streamed == whole.streamed);
  }));
  std::vector<size_t> every(body.size());
  for (size_t i = 0; i < every.size(); ++i) every[i] = i;
  EXPECT_EQ(read(body, every).answer->tool_calls, whole.answer->tool_calls);
}

}  // namespace
}  // namespace chela::llm::openai
