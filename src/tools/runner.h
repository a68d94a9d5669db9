#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "llm/provider.h"
#include "runtime/completion.h"
#include "runtime/task_group.h"
#include "tools/call.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace chela::hooks {
class Chain;
}
namespace chela::runtime {
class EventLoop;
}

namespace chela::tools {

struct RunnerOptions {
  std::chrono::milliseconds timeout;  // outer limit of one call
  std::size_t max_result_bytes;       // what the model is shown
  bool auto_approve = false;          // AGENT_AUTO_APPROVE_TOOLS: nothing asks
};

// How often one tool may ignore its stop token: with so many calls of it still running it is not called again until one ends.
inline constexpr int kMaxAbandonedCalls = 4;

// What a model is told of a tool that it was offered and that has gone since.
std::string gone_tool(std::string_view name);

// The one pipeline every tool call goes through: permission -> schema -> hooks -> approval -> deadline -> execute -> wrap (design.md section 4).
// Loop thread only; owned by app/, which awaits close() before it goes.
class Runner {
 public:
  Runner(runtime::EventLoop& loop, const Registry& registry, hooks::Chain& hooks, RunnerOptions options);

  // For calls from now on; those that run keep their limit.
  void configure(RunnerOptions options) { options_ = options; }

  // Whether "always" was answered for this tool before.
  using AutoApproved = std::function<bool(std::string_view tool)>;

  // Never fails: what is wrong with a call becomes a refusal the model can act on (unknown tool: names the nearest ones; no permission;
  // malformed JSON; schema errors with pointer, expected and given). Missing, null and empty arguments count as {}.
  Task<PreparedCall> prepare(CallSite site, llm::ToolCall call, AutoApproved auto_approved,
                             std::stop_token stop);

  // Runs a prepared call. kCancelled only when `stop` was requested; a tool's deadline is an error result. Returns at once when
  // the deadline passes or `stop` fires, whatever the tool does; what it says later is dropped and counted.
  Task<Result<FinishedCall>> execute(CallSite site, PreparedCall call, std::stop_token stop);

  // The result of a call that does not run: refused, denied, interrupted. The message is what the model is told.
  FinishedCall without_running(const std::string& id, const std::string& name, std::string message) const;

  // Results that came after their call had been answered.
  std::uint64_t late_results() const { return late_results_; }

  // Waits for calls that run on after they were stopped.
  Task<> close();

 private:
  using Outcome = std::optional<Result<ToolResult>>;  // nothing: stopped before the tool answered
  Task<> drive(ToolPtr tool, ToolContext context, json::Value arguments, runtime::Completion<Outcome> done);
  std::string unknown_tool(const CallSite& site, std::string_view name) const;

  runtime::EventLoop& loop_;
  const Registry& registry_;
  hooks::Chain& hooks_;
  RunnerOptions options_;
  runtime::TaskGroup running_;
  std::map<std::string, int, std::less<>> abandoned_;  // calls that run on after they were stopped, by tool
  std::uint64_t late_results_ = 0;
};

}  // namespace chela::tools
