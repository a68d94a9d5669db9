#include "tools/runner.h"

#include <gtest/gtest.h>

#include "hooks/hooks.h"
#include "runtime/sleep.h"
#include "testing/manual_loop.h"

namespace chela::tools {
namespace {

using runtime::block_on;
using testing::ManualLoop;

// Does what the test says and remembers its arguments.
class ScriptedTool final : public Tool {
 public:
  using Body = std::function<Task<Result<ToolResult>>(ToolContext)>;

  ScriptedTool(std::string name, Approval approval, Body body) : approval_(approval), body_(std::move(body)) {
    info_ = {.name = std::move(name),
             .description = "a test tool",
             .parameters = parameters(
                 R"({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
               "path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "default": 5}, "mode": {"type": "string"}}})"),
             .idempotence = Idempotence::kRepeatable};
  }
  const ToolInfo& info() const override { return info_; }
  Approval approval(const json::Value&) const override { return approval_; }
  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override {
    last_arguments = std::move(arguments);
    return body_(std::move(context));
  }

  json::Value last_arguments;

 private:
  ToolInfo info_;
  Approval approval_;
  Body body_;
};

Task<Result<ToolResult>> say_done(ToolContext) { co_return ToolResult::text("done"); }

class RewriteHook final : public hooks::Hook {
 public:
  explicit RewriteHook(hooks::Verdict verdict) : verdict_(std::move(verdict)) {}
  Task<Result<hooks::Verdict>> run(hooks::Point, hooks::Event event, std::stop_token) override {
    seen = std::move(event);
    co_return verdict_;
  }
  hooks::Event seen;

 private:
  hooks::Verdict verdict_;
};

class RunnerTest : public ::testing::Test {
 protected:
  ~RunnerTest() override {
    block_on(loop, runner.close());
    block_on(loop, chain.close());
  }

  ScriptedTool& add(std::string name, Approval approval = Approval::kNever,
                    ScriptedTool::Body body = say_done) {
    auto tool = std::make_unique<ScriptedTool>(std::move(name), approval, std::move(body));
    ScriptedTool& reference = *tool;
    EXPECT_TRUE(registry.add(std::move(tool), "test"));
    return reference;
  }
  // A turn whose words come from somebody who may do everything.
  static CallSite everybody() { return {.permissions = {{"*"}}}; }
  PreparedCall prepare(std::string name, std::string arguments, CallSite where = everybody()) {
    return block_on(
        loop, runner.prepare(std::move(where),
                             {.id = "call_1", .name = std::move(name), .arguments = std::move(arguments)},
                             nullptr, {}));
  }
  Result<FinishedCall> execute(PreparedCall call, std::stop_token stop = {}) {
    return block_on(loop, runner.execute({}, std::move(call), std::move(stop)));
  }
  std::shared_ptr<RewriteHook> hook(hooks::Verdict verdict) {
    auto made = std::make_shared<RewriteHook>(std::move(verdict));
    chain.add({.name = "test", .points = {hooks::Point::kBeforeToolCall}, .hook = made});
    return made;
  }

  ManualLoop loop;
  hooks::Chain chain{loop};
  Registry registry;
  Runner runner{loop, registry, chain, {.timeout = 60s, .max_result_bytes = 1000}};
};

using Decision = PreparedCall::Decision;

TEST_F(RunnerTest, AnUnknownToolIsRefusedWithTheNearestNames) {
  add("memory_search");
  const PreparedCall call = prepare("search_memory", "{}");
  EXPECT_EQ(call.decision, Decision::kRefused);
  EXPECT_EQ(call.refusal, "Error: there is no tool named 'search_memory'. Did you mean memory_search?");
  EXPECT_EQ(prepare("\x01\xFFquite_another", "{}").refusal,
            "Error: there is no tool named ' \xEF\xBF\xBDquite_another'. Tools: memory_search");
}

TEST_F(RunnerTest, AToolThatTheAgentMayNotUseIsUnknownAlsoByAlias) {
  add("write_file");
  ASSERT_TRUE(registry.add_alias("save", "write_file"));
  const CallSite site{.tools = {"memory_*", "save"}, .permissions = {{"*"}}};
  EXPECT_EQ(prepare("write_file", R"({"path": "x"})", site).decision, Decision::kRefused);
  EXPECT_EQ(prepare("save", R"({"path": "x"})", site).decision, Decision::kRefused);
  const PreparedCall call = prepare("save", R"({"path": "x"})");
  EXPECT_EQ(call.decision, Decision::kRun);
  EXPECT_EQ(call.name, "write_file");
}

TEST_F(RunnerTest, BrokenArgumentsAreRefusedSayingWhere) {
  add("read_file");
  EXPECT_TRUE(prepare("read_file", R"({"path": "x)").refusal.contains("at byte"))
      << prepare("read_file", R"({"path": "x)").refusal;
  EXPECT_TRUE(prepare("read_file", "[1]").refusal.contains("expected a JSON object, given array"));
  EXPECT_TRUE(prepare("read_file", R"({"path": "a\u0000b"})").refusal.contains("U+0000"));
  const std::string wrong = prepare("read_file", R"({"path": 7, "limit": 0, "color": "red"})").refusal;
  for (const char* part : {"/path", "string", "integer 7", "/limit", "color"})
    EXPECT_TRUE(wrong.contains(part)) << part << " in " << wrong;
  for (const char* empty : {"", "  ", "null", "{}"})
    EXPECT_TRUE(prepare("read_file", empty).refusal.contains("path")) << empty;
}

TEST_F(RunnerTest, DefaultsAreSetAndNullMeansNotGiven) {
  add("read_file");
  const PreparedCall call = prepare("read_file", R"({"path": "x", "limit": null, "mode": null})");
  EXPECT_EQ(call.decision, Decision::kRun) << call.refusal;
  EXPECT_EQ(json::write(call.arguments), R"({"path":"x","limit":5})");
  EXPECT_EQ(call.idempotence, Idempotence::kRepeatable);
  EXPECT_EQ(call.description, "a test tool");
}

TEST_F(RunnerTest, ApprovalDependsOnTheToolAndOnWhatWasAlwaysAllowed) {
  add("never");
  add("unless", Approval::kUnlessAutoApproved);
  add("always", Approval::kAlways);
  const std::string arguments = R"({"path": "x"})";
  const auto decide = [&](Runner& with, const char* name) {
    return block_on(loop, with.prepare(everybody(), {.id = "1", .name = name, .arguments = arguments},
                                       [](std::string_view tool) { return tool == "unless"; }, {}))
        .decision;
  };
  EXPECT_EQ(prepare("never", arguments).decision, Decision::kRun);
  EXPECT_EQ(prepare("unless", arguments).decision, Decision::kAsk);
  EXPECT_EQ(decide(runner, "unless"), Decision::kRun);
  EXPECT_EQ(decide(runner, "always"), Decision::kAsk);
  Runner free(loop, registry, chain, {.timeout = 60s, .max_result_bytes = 1000, .auto_approve = true});
  EXPECT_EQ(decide(free, "always"), Decision::kRun);
}

TEST_F(RunnerTest, HooksRewriteArgumentsThatAreCheckedAgain) {
  add("read_file");
  const auto seen = hook({.modified = R"({"path": "safe", "limit": 2})"});
  const PreparedCall call = prepare("read_file", R"({"path": "x"})",
                                    {.scope = {.user = "u"}, .thread = "t", .permissions = {{"*"}}});
  EXPECT_EQ(json::write(call.arguments), R"({"path":"safe","limit":2})");
  EXPECT_EQ(seen->seen.content, R"({"path":"x","limit":5})");
  EXPECT_EQ(seen->seen.tool_name, "read_file");
  EXPECT_EQ(seen->seen.user_id, "u");
  EXPECT_EQ(seen->seen.context, "chat");
  hook({.modified = R"({"limit": 2})"});
  EXPECT_EQ(prepare("read_file", R"({"path": "x"})").decision, Decision::kRefused);
  hook({.rejected = "not today"});
  EXPECT_EQ(prepare("read_file", R"({"path": "x"})").refusal, "Error: Tool call rejected by hook: not today");
}

TEST_F(RunnerTest, RunsWithTheFinalArguments) {
  ScriptedTool& tool = add("read_file");
  const Result<FinishedCall> finished = execute(prepare("read_file", R"({"path": "x"})"));
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->text, "done");
  EXPECT_EQ(finished->id, "call_1");
  EXPECT_FALSE(finished->is_error);
  EXPECT_EQ(tool.last_arguments.int_or("limit", 0), 5);
}

TEST_F(RunnerTest, AFailureOfTheEngineIsAnErrorResult) {
  add("read_file", Approval::kNever, [](ToolContext) -> Task<Result<ToolResult>> {
    co_return fail(Code::kUnavailable, "the disk is full");
  });
  const Result<FinishedCall> finished = execute(prepare("read_file", R"({"path": "x"})"));
  ASSERT_TRUE(finished);
  EXPECT_TRUE(finished->is_error);
  EXPECT_EQ(finished->text, "Error: the disk is full");
}

TEST_F(RunnerTest, ADeadlineIsAnErrorResultAndStopsTheTool) {
  bool stopped = false;
  add("slow", Approval::kNever, [&](ToolContext context) -> Task<Result<ToolResult>> {
    stopped = !co_await runtime::sleep_for(loop, 1h, context.stop);
    co_return fail(Code::kCancelled, "stopped");
  });
  const SteadyTime start = loop.clock().steady();
  const Result<FinishedCall> finished = execute(prepare("slow", R"({"path": "x"})"));
  ASSERT_TRUE(finished);
  EXPECT_TRUE(finished->is_error);
  EXPECT_TRUE(finished->text.contains("deadline")) << finished->text;
  EXPECT_EQ(loop.clock().steady() - start, 60s);
  loop.run_ready();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(runner.late_results(), 0u);
}

TEST_F(RunnerTest, ATurnNeverWaitsForAToolThatIgnoresItsStopToken) {
  std::vector<runtime::Completion<bool>> gates;
  add("stubborn", Approval::kNever, [&](ToolContext) -> Task<Result<ToolResult>> {
    gates.emplace_back(loop);
    co_await gates.back();
    co_return ToolResult::text("late");
  });
  const PreparedCall call = prepare("stubborn", R"({"path": "x"})");
  for (int i = 0; i < kMaxAbandonedCalls; ++i) {
    std::stop_source stop;
    loop.call_at(loop.clock().steady() + 10ms, [&stop] { stop.request_stop(); });
    const SteadyTime start = loop.clock().steady();
    const Result<FinishedCall> finished = execute(call, stop.get_token());
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, Code::kCancelled);
    EXPECT_EQ(loop.clock().steady() - start, 10ms);
  }
  EXPECT_TRUE(execute(call)->text.contains("did not end when they were stopped"));
  EXPECT_EQ(gates.size(), static_cast<size_t>(kMaxAbandonedCalls));
  for (const auto& gate : gates) gate.resolve(true);
  loop.run_ready();
  EXPECT_EQ(runner.late_results(), static_cast<std::uint64_t>(kMaxAbandonedCalls));
  // It answers again, so it may be called again.
  const size_t before = gates.size();
  loop.call_at(loop.clock().steady() + 1ms, [&] { gates[before].resolve(true); });
  EXPECT_EQ(execute(call)->text, "late");
}

TEST_F(RunnerTest, WhatIsCancelledBeforeItStartsDoesNotRun) {
  ScriptedTool& tool = add("read_file");
  std::stop_source stop;
  stop.request_stop();
  const Result<FinishedCall> finished = execute(prepare("read_file", R"({"path": "x"})"), stop.get_token());
  ASSERT_FALSE(finished);
  EXPECT_TRUE(tool.last_arguments.is_null());
}

TEST_F(RunnerTest, ACallThatDoesNotRunHasAResultToo) {
  const FinishedCall call = runner.without_running("call_9", "shell", "interrupted: the engine restarted");
  EXPECT_EQ(call.text, "interrupted: the engine restarted");
  EXPECT_TRUE(call.is_error);
  EXPECT_EQ(call.id, "call_9");
}

TEST_F(RunnerTest, AToolNeedsThePermissionOfItsGroupFromAllWhoSpeak) {
  add("peek");
  const auto decision = [&](std::vector<op::Permissions> permissions) {
    return prepare("peek", R"({"path": "x"})", {.permissions = std::move(permissions)}).decision;
  };
  using enum PreparedCall::Decision;
  EXPECT_EQ(decision({{"*"}}), kRun);
  EXPECT_EQ(decision({{"tools:*"}}), kRun);
  EXPECT_EQ(decision({{"chat:*", "tools:test"}}), kRun);
  EXPECT_EQ(decision({{"chat:*", "tools:files"}}), kRefused);
  EXPECT_EQ(decision({{"*"}, {"chat:*"}}), kRefused);
  EXPECT_EQ(decision({}), kRefused);
  const PreparedCall refused = prepare("peek", R"({"path": "x"})", {.permissions = {{"chat:*"}}});
  EXPECT_TRUE(refused.refusal.contains("tools:test")) << refused.refusal;
}

}  // namespace
}  // namespace chela::tools
