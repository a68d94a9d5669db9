#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "llm/provider.h"
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
  std::chrono::milliseconds timeout;          // outer limit of one call
  std::size_t max_result_bytes;               // what the model is shown
  bool auto_approve = false;                  // AGENT_AUTO_APPROVE_TOOLS: nothing asks
};

// The one pipeline every tool call goes through: schema -> hooks -> approval -> deadline -> execute -> wrap. (design.md section 4)
class Runner {
 public:
  Runner(runtime::EventLoop& loop, const Registry& registry, hooks::Chain& hooks, RunnerOptions options);

  // Whether "always" was answered for this tool before.
  using AutoApproved = std::function<bool(std::string_view tool)>;

  // Never fails: what is wrong with a call becomes a refusal the model can act on (unknown tool: names the nearest ones;
  // malformed JSON; schema errors with pointer, expected and given).
  Task<PreparedCall> prepare(CallSite site, llm::ToolCall call, AutoApproved auto_approved, std::stop_token stop);

  // Runs a prepared call. kCancelled only when `stop` was requested; a tool's deadline is an error result.
  Task<Result<FinishedCall>> execute(CallSite site, PreparedCall call, std::stop_token stop);

  // The result of a call that does not run: refused, denied, interrupted.
  FinishedCall without_running(const std::string& id, const std::string& name, std::string message) const;

 private:
  runtime::EventLoop& loop_;
  const Registry& registry_;
  hooks::Chain& hooks_;
  RunnerOptions options_;
};

}  // namespace chela::tools
