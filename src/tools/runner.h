#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "llm/provider.h"
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

// Who is calling, in which turn.
struct CallSite {
  Scope scope;
  std::string thread;
  std::string turn;
};

// A call after the stages that come before execution: name resolved, arguments parsed, schema checked, hooks run, approval decided.
struct PreparedCall {
  std::string id;
  std::string name;                 // the tool's own name, aliases resolved
  json::Value arguments;            // final
  enum class Decision { kRun, kAsk, kRefused } decision = Decision::kRun;
  std::string refusal;              // kRefused: what the model is told
  std::string description;          // for the approval question
  Idempotence idempotence = Idempotence::kOnce;
};

// What the model and the clients see of a finished call.
struct FinishedCall {
  std::string id;
  std::string name;
  std::string text;                 // for the model, wrapped and cut to max_result_bytes
  std::string preview;              // for people, at most 500 characters
  bool is_error = false;
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
