#include "agent/traces/trace.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "agent/traces/limits.h"
#include "base/utf8.h"

namespace chela::agent::traces {
namespace {

using Kind = TraceStep::Kind;

std::string problem(std::string_view text) {
  const Result<Trace> trace = read_trace(text);
  return trace ? "" : trace.error().message;
}

TEST(Trace, ReadsTheWholeFormat) {
  const Result<Trace> trace = read_trace(R"({
    "model_name": "spot-http", "comment": "skipped",
    "memory_snapshot": [{"path": "MEMORY.md", "content": "tea"}],
    "http_exchanges": [{"request": {"method": "GET", "url": "https://a.example/", "headers": [["Accept", "*/*"]], "body": null},
                        "response": {"status": 200, "headers": [["Content-Type", "text/plain"]], "body": "hi"}}],
    "turns": [{"user_input": "go", "steps": [
      {"request_hint": {"last_user_message_contains": "go", "min_message_count": 2},
       "response": {"type": "tool_calls", "tool_calls": [{"id": "c1", "name": "http", "arguments": {"url": "https://a.example/"}}],
                    "input_tokens": 10, "output_tokens": 5}},
      {"response": {"type": "user_input", "content": "faster"}},
      {"response": {"type": "text", "content": "done", "input_tokens": 1, "output_tokens": 2},
       "expected_tool_results": [{"tool_call_id": "c1", "name": "http", "content": "hi"}]}],
      "expects": {"tools_used": ["http"], "max_tool_calls": 1, "tools_order": ["http"]}}],
    "expects": {"response_contains": ["done"], "all_tools_succeeded": true, "min_responses": 1,
                "tool_results_contain": {"http": ["hi", "200"]}}})");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->model_name, "spot-http");
  EXPECT_EQ(trace->memory, (std::vector<TraceDocument>{{"MEMORY.md", "tea"}}));
  ASSERT_EQ(trace->exchanges.size(), 1u);
  EXPECT_EQ(trace->exchanges[0].request_headers.at(0).first, "Accept");
  EXPECT_FALSE(trace->exchanges[0].request_body);
  const TraceTurn& turn = trace->turns.at(0);
  ASSERT_EQ(turn.steps.size(), 3u);
  EXPECT_EQ(turn.steps[0].hint.min_message_count, 2);
  EXPECT_EQ(turn.steps[0].calls.at(0).arguments.string_or("url"), "https://a.example/");
  EXPECT_EQ(turn.steps[1].kind, Kind::kUserInput);
  EXPECT_EQ(turn.steps[2].expected_results.at(0).call_id, "c1");
  EXPECT_EQ(turn.expects.max_tool_calls, 1);
  EXPECT_EQ(trace->expects.tool_results_contain.size(), 2u);
  EXPECT_EQ(trace->notes,
            (std::vector<std::string>{"turns[0].expects.tools_order: not known, so nobody checks it"}));
}

TEST(Trace, AFlatOneIsCutWhereThePersonSpeaksAfterAText) {
  const Result<Trace> trace = read_trace(R"({"model_name": "m", "steps": [
    {"response": {"type": "user_input", "content": "one"}},
    {"response": {"type": "tool_calls", "tool_calls": []}},
    {"response": {"type": "user_input", "content": "joins"}},
    {"response": {"type": "text", "content": "a"}},
    {"response": {"type": "user_input", "content": "two"}},
    {"response": {"type": "text", "content": "b"}}]})");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->turns.size(), 2u);
  EXPECT_EQ(trace->turns[0].user_input, "one");
  EXPECT_EQ(trace->turns[0].steps.at(1).content, "joins");
  EXPECT_EQ(trace->turns[1].user_input, "two");
}

TEST(Trace, WithoutTheirWordsAHintStandsForThem) {
  const Result<Trace> trace =
      read_trace(R"({"steps": [{"request_hint": {"last_user_message_contains": "hello"},
    "response": {"type": "text", "content": "hi"}}]})");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->turns.at(0).user_input, "hello");
  EXPECT_EQ(problem(R"({"steps": [{"response": {"type": "text", "content": "hi"}}]})"),
            "steps: nothing says what the person said; add a step of the type user_input, or a request_hint");
}

TEST(Trace, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_EQ(problem("[]"), "the trace: expected an object, not array");
  EXPECT_EQ(problem("{}"), "the trace: expected turns or steps, not nothing");
  EXPECT_EQ(problem(R"({"turns": {}})"), "turns: expected a list, not object");
  EXPECT_EQ(problem(R"({"turns": [{"steps": []}]})"), "turns[0].user_input: expected a text, not nothing");
  EXPECT_EQ(problem(R"({"turns": [{"user_input": "", "steps": [{}]}]})"),
            "turns[0].steps[0].response: expected an object, not nothing");
  EXPECT_EQ(
      problem(R"({"turns": [{"user_input": "", "steps": [{"response": {"type": "song", "content": ""}}]}]})"),
      "turns[0].steps[0].response.type: expected text, tool_calls, user_input or error, not 'song'");
  EXPECT_EQ(
      problem(
          R"({"turns": [{"user_input": "", "steps": [{"response": {"type": "error", "code": "gone"}}]}]})"),
      "turns[0].steps[0].response.code: there is no error code 'gone'");
  EXPECT_EQ(problem(R"({"turns": [], "expects": {"max_tool_calls": -1}})"),
            "expects.max_tool_calls: expected a whole number from 0 on, not integer");
  EXPECT_TRUE(problem(R"({"turns": [], "expects": {"response_matches": "("}})")
                  .starts_with("expects.response_matches: "));
  EXPECT_EQ(problem(R"({"turns": [], "settings": {"llm.base_url": "http://x"}})"),
            "settings.llm.base_url: a trace may set agent.*, limits.* and tools.*");
  EXPECT_EQ(
      problem(
          R"({"turns": [], "http_exchanges": [{"request": {"method": "GET", "url": "u"}, "response": {"status": 7}}]})"),
      "http_exchanges[0].response.status: expected 100 to 999, not 7");
}

std::string many(std::string_view key, size_t count, std::string_view item) {
  std::string text = fmt::format(R"({{"turns": [], "{}": [)", key);
  for (size_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + std::string(item);
  return text + "]}";
}

TEST(Trace, HoldsSoMuchAndNoMore) {
  EXPECT_EQ(read_trace(std::string(kMaxTraceBytes + 1, ' ')).error().code, Code::kTooLarge);
  const std::string_view document = R"({"path": "a", "content": ""})";
  EXPECT_EQ(problem(many("memory_snapshot", kMaxTraceDocuments, document)), "");
  EXPECT_EQ(problem(many("memory_snapshot", kMaxTraceDocuments + 1, document)),
            "memory_snapshot: 2001 entries; at most 2000 are read");
  const std::string_view exchange =
      R"({"request": {"method": "GET", "url": "u"}, "response": {"status": 200}})";
  EXPECT_EQ(problem(many("http_exchanges", kMaxTraceExchanges, exchange)), "");
  EXPECT_NE(problem(many("http_exchanges", kMaxTraceExchanges + 1, exchange)), "");
  const auto turns = [](size_t count) {
    std::string list;
    for (size_t i = 0; i < count; ++i) list += std::string(i > 0 ? "," : "") + R"({"user_input": "a"})";
    return R"({"turns": [)" + list + "]}";
  };
  EXPECT_EQ(problem(turns(kMaxTraceTurns)), "");
  EXPECT_NE(problem(turns(kMaxTraceTurns + 1)), "");
  std::string steps;
  for (size_t i = 0; i < kMaxTraceSteps / 2 + 1; ++i)
    steps += std::string(i > 0 ? "," : "") + R"({"response": {"type": "text", "content": ""}})";
  const std::string half = R"({"user_input": "a", "steps": [)" + steps + "]}";
  EXPECT_EQ(problem(R"({"turns": [)" + half + "]}"), "");
  EXPECT_NE(problem(R"({"turns": [)" + half + "," + half + "]}"), "");
  json::Value settings = json::Value::object();
  for (size_t i = 0; i <= kMaxTraceSettings; ++i) settings.set(fmt::format("agent.k{}", i), 1);
  EXPECT_TRUE(
      problem(json::write(json::Value::object({{"turns", json::Value::array()}, {"settings", settings}})))
          .starts_with("settings: expected an object of at most 64 members"));
}

TEST(Trace, IsLaidOutForPeople) {
  const Trace trace{.model_name = "m",
                    .turns = {{.user_input = "hi",
                               .steps = {{.content = "hello", .input_tokens = 3, .output_tokens = 1}},
                               .expects = {.response_contains = {"hello"}}}}};
  EXPECT_EQ(write_trace(trace), R"({
  "model_name": "m",
  "turns": [
    {
      "user_input": "hi",
      "steps": [{"response": {"type": "text", "content": "hello", "input_tokens": 3, "output_tokens": 1}}],
      "expects": {"response_contains": ["hello"]}
    }
  ]
}
)");
}

TEST(Trace, SecretsAreTakenOutOfEveryText) {
  const json::Value value = *json::parse(R"({"a": ["x hush", {"hush": 1}], "b": 2})");
  const Mask mask = [](std::string_view text) {
    std::string out(text);
    if (const size_t at = out.find("hush"); at != std::string::npos) out.replace(at, 4, "***");
    return out;
  };
  EXPECT_EQ(json::write(masked(value, mask)), R"({"a":["x ***",{"***":1}],"b":2})");
}

TEST(Trace, AnotherConversationFollowsInAThreadOfItsOwn) {
  Trace whole;
  append(whole,
         {.model_name = "m", .memory = {{"a", "1"}}, .turns = {{.user_input = "one"}}, .left_out = {"x"}});
  append(whole, {.model_name = "n",
                 .memory = {{"a", "2"}, {"b", "3"}},
                 .turns = {{.user_input = "two"}},
                 .left_out = {"y", "x"}});
  EXPECT_EQ(whole.left_out, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(whole.model_name, "m");
  EXPECT_EQ(whole.memory, (std::vector<TraceDocument>{{"a", "1"}, {"b", "3"}}));
  ASSERT_EQ(whole.turns.size(), 3u);
  EXPECT_EQ(whole.turns[1].user_input, "/new");
}

// --- What is written is read again as it was.

std::string any_text() { return utf8::sanitize(*rc::gen::arbitrary<std::string>()); }
std::int64_t any_count() { return *rc::gen::inRange<std::int64_t>(0, 1'000'000); }
bool any_truth() { return *rc::gen::arbitrary<bool>(); }

std::vector<std::string> any_texts() {
  std::vector<std::string> out(*rc::gen::inRange<size_t>(0, 3));
  for (std::string& each : out) each = any_text();
  return out;
}

Expects any_expects() {
  Expects out{.response_contains = any_texts(),
              .response_not_contains = any_texts(),
              .tools_used = any_texts(),
              .tools_not_used = any_texts(),
              .tools_failed = any_texts(),
              .requests_contain = any_texts(),
              .requests_not_contain = any_texts()};
  if (any_truth()) out.response_matches = "a+[0-9]";
  if (any_truth()) out.all_tools_succeeded = any_truth();
  if (any_truth()) out.max_tool_calls = any_count();
  if (any_truth()) out.min_responses = any_count();
  if (any_truth()) out.model_calls = any_count();
  if (any_truth()) out.state = any_text();
  if (any_truth()) out.error_contains = any_text();
  if (any_truth()) out.tool_results_contain = {{"one", any_text()}, {"one", any_text()}, {"two", any_text()}};
  return out;
}

TraceStep any_step() {
  TraceStep out{.kind = *rc::gen::element(Kind::kText, Kind::kToolCalls, Kind::kUserInput, Kind::kError),
                .content = any_text()};
  if (any_truth()) out.hint.last_user_message_contains = any_text();
  if (any_truth()) out.hint.min_message_count = any_count();
  if (any_truth()) out.expected_results = {{any_text(), any_text(), any_text()}};
  if (out.kind == Kind::kText || out.kind == Kind::kToolCalls) {
    out.input_tokens = any_count();
    out.output_tokens = any_count();
    if (any_truth()) out.finish_reason = "length";
  }
  if (out.kind == Kind::kToolCalls) {
    out.calls = {{any_text(), any_text(), json::Value::object({{"n", any_count()}, {"t", any_text()}})},
                 {any_text(), any_text(), any_text()}};
  }
  if (out.kind == Kind::kError) {
    out.code = "rate_limited";
    if (any_truth()) out.reason = any_text();
    if (any_truth()) out.retry_after_ms = any_count();
  }
  return out;
}

TEST(TraceProperties, WhatIsWrittenIsReadAgainAsItWas) {
  EXPECT_TRUE(rc::check("write then read", [] {
    Trace trace{.model_name = any_text(), .expects = any_expects()};
    if (any_truth()) trace.left_out = {any_text(), any_text()};
    if (any_truth()) trace.settings = {{"agent.busy", any_text()}};
    if (any_truth()) trace.memory = {{any_text(), any_text()}};
    if (any_truth()) trace.files = {{any_text(), any_text()}};
    if (any_truth()) {
      trace.exchanges = {{.method = any_text(),
                          .url = any_text(),
                          .request_headers = {{any_text(), any_text()}},
                          .status = *rc::gen::inRange(100, 1000),
                          .response_body = any_text()}};
      if (any_truth()) trace.exchanges[0].request_body = any_text();
    }
    trace.turns.resize(*rc::gen::inRange<size_t>(0, 3));
    for (TraceTurn& turn : trace.turns) {
      turn.user_input = any_text();
      turn.expects = any_expects();
      turn.steps.resize(*rc::gen::inRange<size_t>(0, 3));
      for (TraceStep& step : turn.steps) step = any_step();
    }
    const Result<Trace> again = read_trace(write_trace(trace));
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == trace);
  }));
}

}  // namespace
}  // namespace chela::agent::traces
