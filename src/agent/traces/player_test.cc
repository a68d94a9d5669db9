#include "agent/traces/player.h"

#include <gtest/gtest.h>

#include "agent/engine_test_fixture.h"
#include "agent/traces/export.h"
#include "agent/traces/limits.h"

namespace chela::agent::traces {
namespace {

using Kind = TraceStep::Kind;

TraceStep text(std::string content) { return {.content = std::move(content)}; }
TraceStep call(std::string id, std::string name, json::Value arguments = json::Value::object()) {
  return {.kind = Kind::kToolCalls, .calls = {{std::move(id), std::move(name), std::move(arguments)}}};
}
TraceStep says(std::string words) { return {.kind = Kind::kUserInput, .content = std::move(words)}; }

// The tools `free` and `asks` of EngineTest, with a model that follows a trace.
class PlayerTest : public ::testing::Test {
 protected:
  PlayerTest() {
    add_tool("free", tools::Approval::kNever);
    add_tool("asks", tools::Approval::kUnlessAutoApproved);
    parts_.start();
  }
  void add_tool(const char* name, tools::Approval approval) {
    const Result<> added =
        parts_.tools.add(std::make_unique<FakeTool>(loop_, name, approval, &runs_), "test");
    EXPECT_TRUE(added);
  }
  Report play(const Trace& trace, Strictness strictness = Strictness::kStrict) {
    Player player({.engine = parts_.engine(), .model = model_, .scope = kScope}, trace, strictness);
    Result<Report> report = runtime::block_on(loop_, player.play({}));
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : Report{};
  }
  static std::string failures(const Report& report) {
    std::string out;
    for (const Failed& each : report.failures)
      out += each.where + " " + each.what.expectation + ": " + each.what.message + "\n";
    return out;
  }
  // The trace of the thread that was used last.
  Trace exported() {
    const auto threads = runtime::block_on(loop_, parts_.engine().threads(kScope, {}));
    const auto value = runtime::block_on(
        loop_, export_thread(parts_.engine(), kScope, threads->at(0).id, "again", [](std::string_view each) {
          std::string out(each);
          for (size_t at; (at = out.find("hush")) != std::string::npos;) out.replace(at, 4, "[x]");
          return out;
        }));
    EXPECT_TRUE(value) << value.error().message;
    return *read_trace(json::write(*value));
  }

  const Scope kScope{"default", "u1", ""};
  testing::ManualLoop loop_;
  ScriptedModel model_{loop_};
  int runs_ = 0;
  testing::EngineParts parts_{loop_, *store::sqlite::Database::open_in_memory(loop_), model_};
};

TEST_F(PlayerTest, PlaysTurnsWithRealTools) {
  const Report report =
      play({.turns = {{.user_input = "go",
                       .steps = {call("c1", "free", json::Value::object({{"n", 1}})), text("done")},
                       .expects = {.response_contains = {"done"},
                                   .tools_used = {"free"},
                                   .all_tools_succeeded = true,
                                   .tool_results_contain = {{"free", "result of free"}},
                                   .model_calls = 2}},
                      {.user_input = "again",
                       .steps = {text("more")},
                       .expects = {.requests_contain = {"done", "again"}}}},
            .expects = {.min_responses = 2}});
  EXPECT_EQ(failures(report), "");
  EXPECT_EQ(runs_, 1);
}

TEST_F(PlayerTest, WhatDoesNotHoldIsNamed) {
  const Report report =
      play({.turns = {{.user_input = "go", .steps = {text("done")}, .expects = {.tools_used = {"free"}}}},
            .expects = {.response_contains = {"bye"}}});
  ASSERT_EQ(report.failures.size(), 2u) << failures(report);
  EXPECT_EQ(report.failures[0].where, "turns[0]");
  EXPECT_EQ(report.failures[0].what.expectation, "tools_used");
  EXPECT_EQ(report.failures[1].where, "");
}

TEST_F(PlayerTest, QuestionsWaitForTheNextTurnOrAreAnsweredWithinTheirs) {
  EXPECT_EQ(failures(play({.turns = {{.user_input = "go",
                                      .steps = {call("c1", "asks")},
                                      .expects = {.tools_not_used = {"asks"}, .state = "awaiting_approval"}},
                                     {.user_input = "no",
                                      .steps = {text("then not")},
                                      .expects = {.tools_failed = {"asks"}, .state = "completed"}}}})),
            "");
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(failures(play({.turns = {{.user_input = "go",
                                      .steps = {call("c1", "asks"), text("ran")},
                                      .expects = {.all_tools_succeeded = true}}}})),
            "");
  EXPECT_EQ(runs_, 1);
}

TEST_F(PlayerTest, WhatIsSaidInMidTurnJoinsIt) {
  EXPECT_EQ(failures(play({.turns = {{.user_input = "go",
                                      .steps = {says("go"), call("c1", "free"), says("faster"), text("fast")},
                                      .expects = {.model_calls = 2, .requests_contain = {"faster"}}}}})),
            "");
  EXPECT_EQ(failures(play({.turns = {{.user_input = "go",
                                      .steps = {text("never seen"), says("/interrupt")},
                                      .expects = {.state = "interrupted"}}}})),
            "");
}

TEST_F(PlayerTest, CommandsAnswerAndLeadToOtherThreads) {
  EXPECT_EQ(
      failures(play(
          {.turns = {{.user_input = "one", .steps = {text("first")}},
                     {.user_input = "/undo", .expects = {.min_responses = 1, .model_calls = 0}},
                     {.user_input = "two",
                      .steps = {text("second")},
                      .expects = {.requests_not_contain = {"first"}}},
                     {.user_input = "/new"},
                     {.user_input = "three",
                      .steps = {text("third")},
                      .expects = {.response_contains = {"third"}, .requests_not_contain = {"second"}}}}})),
      "");
}

TEST_F(PlayerTest, AProvidersErrorFailsTheTurn) {
  EXPECT_EQ(failures(play(
                {.turns = {{.user_input = "go",
                            .steps = {{.kind = Kind::kError, .content = "no key", .code = "unauthenticated"}},
                            .expects = {.state = "failed", .error_contains = "no key"}}}})),
            "");
}

TEST_F(PlayerTest, MoreOrFewerCallsThanTheTraceHasAreTold) {
  const Report more =
      play({.turns = {{.user_input = "go", .steps = {call("c1", "free")}}}}, Strictness::kExpectations);
  ASSERT_EQ(more.failures.size(), 1u);
  EXPECT_EQ(more.failures[0].what.message, "the model was asked 1 times more than the trace answers");
  const Trace fewer{.turns = {{.user_input = "go", .steps = {text("a"), text("b")}}}};
  EXPECT_EQ(failures(play(fewer, Strictness::kExpectations)), "");
  EXPECT_EQ(failures(play(fewer)), " strict: turns[0]: 1 of its answers were not asked for\n");
}

TEST_F(PlayerTest, HintsAndResultsThatWereOtherwiseAreNoted) {
  TraceStep last = text("done");
  last.hint = {.last_user_message_contains = "stop", .min_message_count = 99};
  last.expected_results = {{"c1", "free", "other"}, {"c9", "free", "x"}};
  const Report report =
      play({.turns = {{.user_input = "go", .steps = {call("c1", "free"), last}}}}, Strictness::kExpectations);
  EXPECT_EQ(failures(report), "");
  EXPECT_EQ(report.notes.size(), 4u);
}

TEST_F(PlayerTest, EveryEndOfATurnIsTold) {
  play({.turns = {{.user_input = "go", .steps = {text("done")}},
                  {.user_input = "ask", .steps = {call("c1", "asks")}},
                  {.user_input = "/interrupt"},
                  {.user_input = "fail", .steps = {{.kind = Kind::kError, .code = "unauthenticated"}}},
                  {.user_input = "/ping"}}});
  EXPECT_EQ(parts_.ended.size(), 3u);
}

TEST_F(PlayerTest, ARefusedMessageIsSeen) {
  EXPECT_EQ(
      failures(play({.turns = {{.user_input = "", .expects = {.state = "refused", .model_calls = 0}}}})), "");
}

// --- From a log

TEST_F(PlayerTest, AThreadBecomesATraceThatHolds) {
  const Trace trace{
      .turns = {
          {.user_input = "go",
           .steps = {call("c1", "free", json::Value::object({{"n", 1}})), says("faster"), text("done")}},
          {.user_input = "ask", .steps = {call("c2", "asks")}},
          {.user_input = "yes", .steps = {text("ran")}},
          {.user_input = "/undo"},
          {.user_input = "fail",
           .steps = {{.kind = Kind::kError, .content = "no key", .code = "unauthenticated"}}},
          {.user_input = "stop", .steps = {text(""), says("/interrupt")}},
          {.user_input = "odd", .steps = {call("c3", "gone", "{not JSON"), text("odd indeed")}}}};
  EXPECT_EQ(failures(play(trace)), "");
  const Trace made = exported();
  EXPECT_EQ(made.model_name, "again");
  ASSERT_EQ(made.turns.size(), trace.turns.size());
  for (size_t i = 0; i < trace.turns.size(); ++i) {
    EXPECT_EQ(made.turns[i].user_input, trace.turns[i].user_input);
    ASSERT_EQ(made.turns[i].steps.size(), trace.turns[i].steps.size()) << i;
    for (size_t s = 0; s < trace.turns[i].steps.size(); ++s) {
      EXPECT_EQ(made.turns[i].steps[s].content, trace.turns[i].steps[s].content);
      EXPECT_EQ(made.turns[i].steps[s].calls, trace.turns[i].steps[s].calls);
    }
  }
  EXPECT_EQ(made.turns[0].expects.tools_used, (std::vector<std::string>{"free"}));
  EXPECT_EQ(made.turns[1].expects.state, "awaiting_approval");
  EXPECT_EQ(failures(play(made)), "");
}

TEST_F(PlayerTest, SecretsAreNoPartOfIt) {
  const std::string long_text = std::string(kMaxTraceHintBytes - 2, 'y') + "hush";
  play({.turns = {{.user_input = long_text,
                   .steps = {call("c1", "free", json::Value::object({{"key", "hush"}})),
                             text(std::string(kMaxTraceReplyBytes - 2, 'x') + "hush")}}}});
  EXPECT_EQ(write_trace(exported()).find("hu"), std::string::npos);
}

TEST_F(PlayerTest, LongResultsAreLeftOut) {
  const std::string much(kMaxTraceResultBytes, 'z');
  play({.turns = {{.user_input = "go",
                   .steps = {call("c1", "free", json::Value::object({{"t", much}})), text("done")}}}});
  EXPECT_TRUE(exported().turns.at(0).steps.at(1).expected_results.empty());
}

json::Array records(std::initializer_list<std::pair<const char*, const char*>> list) {
  json::Array out;
  for (const auto& [kind, body] : list)
    out.push_back(json::Value::object({{"kind", kind}, {"body", *json::parse(body)}}));
  return out;
}

TEST(Export, TakesFromResultsWhatTheConversationFound) {
  const Result<Trace> trace = trace_of(
      records(
          {{"TurnStarted",
            R"({"v":1,"turn":"t","input":"go","model":"m","max_iterations":7,"context_tokens":9})"},
           {"ModelRequested", R"({"v":1})"},
           {"ModelAnswered", R"({"v":1,"text":"","tool_calls":[
                  {"id":"a","name":"memory_read","arguments":"{\"path\":\"P.md\"}"},
                  {"id":"b","name":"read_file","arguments":"{\"path\":\"f.txt\"}"},
                  {"id":"w","name":"write_file","arguments":"{\"path\":\"own.txt\"}"},
                  {"id":"c","name":"http","arguments":"{\"method\":\"POST\",\"url\":\"https://a.example/\",\"body\":\"q\"}"}]})"},
           {"ToolFinished",
            R"({"v":1,"id":"a","name":"memory_read","text":"{\"path\":\"P.md\",\"content\":\"tea\"}"})"},
           {"ToolFinished",
            R"({"v":1,"id":"b","name":"read_file","text":"one\n[lines 1 to 1 of 9; go on with offset 2]"})"},
           {"ToolFinished", R"({"v":1,"id":"w","name":"write_file","text":"Wrote"})"},
           {"ToolFinished",
            R"({"v":1,"id":"c","name":"http","text":"{\"status\":200,\"headers\":{\"a\":\"b\"},\"body\":\"ok\"}"})"},
           {"ModelAnswered",
            R"({"v":1,"tool_calls":[{"id":"d","name":"read_file","arguments":"{\"path\":\"own.txt\"}"}]})"},
           {"ToolFinished", R"({"v":1,"id":"d","name":"read_file","text":"mine"})"},
           {"TurnFinished", R"({"v":1,"reply":"done"})"}}),
      "");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->model_name, "recorded-m");
  EXPECT_EQ(trace->settings.at(0).second, "7");
  EXPECT_EQ(trace->memory, (std::vector<TraceDocument>{{"P.md", "tea"}}));
  EXPECT_EQ(trace->files, (std::vector<TraceDocument>{{"f.txt", "one"}}));
  ASSERT_EQ(trace->exchanges.size(), 1u);
  EXPECT_EQ(trace->exchanges[0].request_body, "q");
  EXPECT_EQ(trace->exchanges[0].response_body, "ok");
}

TEST(Export, CredentialsAndShorteningsHaveTheirSteps) {
  const Result<Trace> trace = trace_of(
      records(
          {{"TurnStarted", R"({"v":1,"turn":"t","input":"go","model":"m"})"},
           {"ModelRequested", R"({"v":1})"},
           {"Compacted", R"({"v":1,"refused_length":true})"},
           {"ModelRequested", R"({"v":1})"},
           {"ModelAnswered", R"({"v":1,"tool_calls":[{"id":"a","name":"request_secret","arguments":"{}"}]})"},
           {"CredentialAsked", R"({"v":1,"request_id":"r","call_id":"a","name":"key"})"},
           {"CredentialAnswered", R"({"v":1,"request_id":"r","name":"key","end":"stored"})"},
           {"ModelAnswered", R"({"v":1,"text":"thanks"})"},
           {"TurnFinished", R"({"v":1,"reply":"thanks"})"},
           {"Compacted", R"({"v":1,"summary":"all of it"})"},
           {"Cleared", R"({"v":1})"},
           {"Redone", R"({"v":1})"}}),
      "given");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->turns.size(), 5u);
  EXPECT_EQ(trace->turns[0].steps.at(0).reason, "context_length");
  EXPECT_EQ(trace->turns[1].user_input, "[redacted]");
  EXPECT_EQ(trace->turns[2].user_input, "/summarize");
  EXPECT_EQ(trace->turns[2].steps.at(0).content, "all of it");
  EXPECT_EQ(trace->turns[3].user_input, "/clear");
  EXPECT_EQ(trace->turns[4].user_input, "/redo");
}

TEST(Export, SaysWhatItLeavesOut) {
  const Result<Trace> trace = trace_of(
      records(
          {{"TurnStarted",
            R"({"v":1,"turn":"t","input":"look","model":"m","client_tools":["weather"],)"
            R"("attachments":[{"name":"plan.txt","media_type":"text/plain","size":3,"path":"uploads/1/plan.txt","kind":"text"}]})"},
           {"ModelRequested", R"({"v":1})"},
           {"ModelAnswered", R"({"v":1,"tool_calls":[{"id":"a","name":"weather","arguments":"{}"}]})"},
           {"ToolFinished", R"({"v":1,"id":"a","name":"weather","text":"rain","ending":"client"})"},
           {"ModelAnswered", R"({"v":1,"text":"Rain."})"},
           {"TurnFinished", R"({"v":1,"reply":"Rain."})"}}),
      "given");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->left_out,
            (std::vector<std::string>{"the attachment plan.txt", "the client's tool weather"}));
  EXPECT_EQ(read_trace(write_trace(*trace))->left_out, trace->left_out);
}

}  // namespace
}  // namespace chela::agent::traces
