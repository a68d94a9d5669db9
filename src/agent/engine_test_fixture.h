#pragma once

#include <gtest/gtest.h>

#include <deque>

#include "runtime/sleep.h"
#include "runtime/stop_scope.h"
#include "runtime/task_group.h"
#include "testing/engine_parts.h"
#include "testing/manual_loop.h"

// What the tests of the engine share.
namespace chela::agent {

// Answers with what it was told, in order. Remembers the requests.
class FakeProvider final : public llm::Provider {
 public:
  explicit FakeProvider(runtime::EventLoop& loop) : loop_(loop) {}

  struct Reply {
    Result<llm::Answer> answer;
    std::vector<std::string> deltas = {};
    bool stall = false;
    std::optional<size_t> reset_before = {};  // of the deltas: the one with which the answer begins anew
  };

  void say(std::string text) {
    llm::Answer answer{
        .text = text, .usage = {10, 5, 2}, .finish_reason = llm::FinishReason::kStop, .model = "fake"};
    replies_.push_back({answer, {text}});
  }
  void call(std::vector<llm::ToolCall> calls) {
    replies_.push_back({llm::Answer{
        .tool_calls = std::move(calls), .finish_reason = llm::FinishReason::kToolCalls, .model = "fake"}});
  }
  void add(Reply reply) { replies_.push_back(std::move(reply)); }

  Task<Result<llm::Answer>> complete(llm::Request request, llm::DeltaSink sink,
                                     std::optional<SteadyTime> deadline, std::stop_token stop) override {
    requests.push_back(request);
    if (choice && request.caller.chosen) request.caller.chosen(*choice);
    if (replies_.empty()) co_return fail(Code::kUpstream, "the test has no answer left");
    Reply reply = replies_.front();
    replies_.pop_front();
    co_await runtime::yield(loop_);
    for (size_t i = 0; i < reply.deltas.size(); ++i) {
      if (reply.reset_before == i) sink({.reset = true});
      sink({.text = reply.deltas[i]});
    }
    if (reply.stall) {
      const runtime::StopScope scope(loop_, stop, deadline);
      const Result<> slept = co_await runtime::sleep_for(loop_, stall, scope.token());
      if (!slept && !stop.stop_requested()) co_return fail(Code::kTimeout, "the model took too long");
      if (!slept) co_return fail(slept.error());
    }
    co_return reply.answer;
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override {
    const Result<> listed = co_await runtime::sleep_for(loop_, listing_takes, std::move(stop));
    if (!listed) co_return fail(listed.error());
    if (!listing) co_return fail(listing.error());
    co_return *listing;
  }

  std::vector<llm::Request> requests;
  std::optional<json::Value> choice;  // of a model, that is told of each call
  Result<std::vector<std::string>> listing = std::vector<std::string>{"fake"};  // of models()
  std::chrono::milliseconds listing_takes{0};
  std::chrono::milliseconds stall = std::chrono::hours(1);  // of replies that stall

 private:
  runtime::EventLoop& loop_;
  std::deque<Reply> replies_;
};

class FakeTool final : public tools::Tool {
 public:
  FakeTool(runtime::EventLoop& loop, std::string name, tools::Approval approval, int* runs)
      : loop_(loop), approval_(approval), runs_(runs) {
    info_.name = std::move(name);
    info_.parameters = json::Value::object({{"type", "object"}});
  }
  const tools::ToolInfo& info() const override { return info_; }
  tools::Approval approval(const json::Value&) const override { return approval_; }
  Task<Result<tools::ToolResult>> call(tools::ToolContext context, json::Value arguments) override {
    ++*runs_;
    if (arguments.bool_or("hang", false)) {
      const Result<> slept = co_await runtime::sleep_for(loop_, std::chrono::hours(1), context.stop);
      if (!slept) co_return fail(slept.error());
    }
    co_return tools::ToolResult::text("result of " + info_.name + " " + json::write(arguments));
  }

 private:
  runtime::EventLoop& loop_;
  tools::ToolInfo info_;
  tools::Approval approval_;
  int* runs_;
};

// An engine with the tools `free` and `asks` (for approval), in virtual time: what races does so the same way each time.
class EngineTest : public ::testing::Test {
 protected:
  EngineTest() {
    add_tool("free", tools::Approval::kNever, &free_runs_);
    add_tool("asks", tools::Approval::kUnlessAutoApproved, &ask_runs_);
    parts_.knowledge.documents = {{"Identity", "You are a crab."}};
    parts_.knowledge.lines = {"remembered line"};
    parts_.start();
  }

  void add_tool(const char* name, tools::Approval approval, int* runs) {
    const Result<> added = parts_.tools.add(std::make_unique<FakeTool>(loop_, name, approval, runs), "test");
    EXPECT_TRUE(added) << added.error().message;
  }

  void restart(EngineSettings settings = {}) { parts_.start(settings); }
  Engine& engine() { return parts_.engine(); }

  template <class T>
  T run(Task<T> task) {
    return runtime::block_on(loop_, std::move(task));
  }
  Result<Accepted> send(std::string text, std::string thread = {}, std::string key = {}) {
    return run(engine().send({.scope = kScope,
                              .channel = "test",
                              .thread_id = std::move(thread),
                              .content = std::move(text),
                              .idempotency_key = std::move(key),
                              .permissions = {"*"}}));
  }
  TurnOutcome outcome(const Accepted& accepted) {
    auto result = run(engine().wait(kScope, accepted.turn_id, {}));
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : TurnOutcome{};
  }
  // Runs the loop until the provider has got `count` requests.
  void until_requests(size_t count) {
    loop_.run_until([&] { return provider_.requests.size() >= count; });
  }

  const Scope kScope{"default", "u1", ""};
  testing::ManualLoop loop_;
  FakeProvider provider_{loop_};
  int free_runs_ = 0;
  int ask_runs_ = 0;
  testing::EngineParts parts_{loop_, *store::sqlite::Database::open_in_memory(loop_), provider_};
};

}  // namespace chela::agent
