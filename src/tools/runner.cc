#include "tools/runner.h"

#include <algorithm>

#include "base/strings.h"
#include "hooks/hooks.h"
#include "runtime/stop_scope.h"
#include "tools/arguments.h"
#include "tools/names.h"
#include "tools/result_text.h"

namespace chela::tools {
namespace {

constexpr std::size_t kMaxListedTools = 20;  // named when nothing is near to an unknown name

PreparedCall refused(PreparedCall call, std::string_view why) {
  call.decision = PreparedCall::Decision::kRefused;
  call.refusal = fmt::format("Error: {}", why);
  return call;
}

// What is wrong with the arguments, and what the tool takes: enough for the next try.
std::string bad_arguments(const ToolInfo& tool, const Error& error) {
  return fmt::format("wrong arguments for {}: {}. Correct them and call it again", tool.name, error.message);
}

bool permitted(const CallSite& site, std::string_view permission) {
  return !site.permissions.empty() &&
         std::all_of(site.permissions.begin(), site.permissions.end(),
                     [permission](const op::Permissions& each) { return op::allows(each, permission); });
}

op::Permissions common_permissions(const CallSite& site) {
  if (site.permissions.empty()) return {};
  op::Permissions common = site.permissions.front();
  for (const op::Permissions& each : site.permissions) common = op::common(common, each);
  return common;
}

hooks::Event before_call(const CallSite& site, const PreparedCall& call) {
  return {.user_id = site.scope.user,
          .thread_id = site.thread,
          .tool_name = call.name,
          .context = site.context,
          .content = json::write(call.arguments)};
}

bool must_ask(const Tool& tool, const PreparedCall& call, const RunnerOptions& options,
              const Runner::AutoApproved& auto_approved) {
  if (options.auto_approve) return false;
  switch (tool.approval(call.arguments)) {
    case Approval::kNever:
      return false;
    case Approval::kUnlessAutoApproved:
      return !(auto_approved && auto_approved(call.name));
    case Approval::kAlways:
      return true;
  }
  return true;
}

}  // namespace

std::string gone_tool(std::string_view name) {
  return fmt::format(
      "the tool {} is not there any more: what provided it has gone. Do without it, or try again later",
      shown_name(name));
}

Runner::Runner(runtime::EventLoop& loop, const Registry& registry, hooks::Chain& hooks, RunnerOptions options)
    : loop_(loop), registry_(registry), hooks_(hooks), options_(options), running_(loop) {}

std::string Runner::unknown_tool(const CallSite& site, std::string_view name) const {
  const std::vector<std::string> names = registry_.names(site.scope, site.tools);
  if (names.empty())
    return fmt::format("there is no tool named '{}', and no other tool either", shown_name(name));
  const std::vector<std::string> near = nearest_names(name, names);
  if (!near.empty())
    return fmt::format("there is no tool named '{}'. Did you mean {}?", shown_name(name),
                       strings::join(near, " or "));
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxListedTools)));
  return fmt::format("there is no tool named '{}'. Tools: {}{}", shown_name(name), strings::join(first, ", "),
                     first.size() < names.size() ? ", ..." : "");
}

Task<PreparedCall> Runner::prepare(CallSite site, llm::ToolCall call, AutoApproved auto_approved,
                                   std::stop_token stop) {
  PreparedCall out{.id = call.id, .name = shown_name(call.name)};

  // Name: aliases resolve first, so that everything below sees the tool's own name.
  const ToolPtr tool = registry_.find(site.scope, call.name);
  if (tool == nullptr || !Registry::allows(site.tools, tool->info().name))
    co_return refused(std::move(out), unknown_tool(site, call.name));
  const ToolInfo& info = tool->info();
  out.name = info.name;
  out.description = info.description;
  out.idempotence = info.idempotence;

  if (const std::string needed = fmt::format("tools:{}", registry_.group(site.scope, info.name));
      !permitted(site, needed))
    co_return refused(std::move(out),
                      fmt::format("{} is not allowed here: the user's token has not the permission {}. Go on "
                                  "without this tool, and tell the user if it is needed",
                                  info.name, needed));

  // Arguments and schema.
  Result<json::Value> arguments = parse_arguments(call.arguments);
  if (!arguments) co_return refused(std::move(out), bad_arguments(info, arguments.error()));
  out.arguments = std::move(*arguments);
  if (const Result<> ok = check_arguments(info, out.arguments); !ok)
    co_return refused(std::move(out), bad_arguments(info, ok.error()));

  // Hooks may rewrite the arguments, which are then checked like the model's, or reject the call.
  if (hooks_.any(hooks::Point::kBeforeToolCall)) {
    hooks::Outcome outcome = co_await hooks_.run(hooks::Point::kBeforeToolCall, before_call(site, out), stop);
    if (outcome.rejected)
      co_return refused(std::move(out), fmt::format("Tool call rejected by hook: {}", *outcome.rejected));
    if (outcome.modified) {
      arguments = parse_arguments(outcome.content);
      if (arguments) out.arguments = std::move(*arguments);
      const Result<> ok = arguments ? check_arguments(info, out.arguments) : fail(arguments.error());
      if (!ok)
        co_return refused(std::move(out),
                          fmt::format("a hook changed the arguments of {} into wrong ones: {}", info.name,
                                      ok.error().message));
    }
  }

  // Policy: rules of the security layer decide here, on the final arguments, before a person is asked.

  // Approval.
  if (must_ask(*tool, out, options_, auto_approved)) out.decision = PreparedCall::Decision::kAsk;
  Result<std::optional<std::string>> question = co_await tool->question(site.scope, out.arguments);
  if (!question) co_return refused(std::move(out), question.error().message);
  if (*question) {
    out.description = std::move(**question);
    out.consent = Consent::kGiven;
    if (!options_.auto_approve) out.decision = PreparedCall::Decision::kAsk;
  }
  co_return out;
}

Task<Result<FinishedCall>> Runner::execute(CallSite site, PreparedCall call, std::stop_token stop) {
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "{} was cancelled", call.name);
  const ToolPtr tool = registry_.find(site.scope, call.name);
  if (tool == nullptr)
    co_return without_running(call.id, call.name, fmt::format("Error: {}", gone_tool(call.name)));
  if (const auto hung = abandoned_.find(call.name);
      hung != abandoned_.end() && hung->second >= kMaxAbandonedCalls) {
    co_return without_running(
        call.id, call.name,
        fmt::format("Error: {} calls of {} did not end when they were stopped; do without this tool",
                    hung->second, call.name));
  }

  // Limits: a rate per user and tool is taken here.

  runtime::StopScope scope(loop_, stop, loop_.clock().steady() + options_.timeout);
  ToolContext context{.scope = site.scope,
                      .thread = site.thread,
                      .turn = site.turn,
                      .call_id = call.id,
                      .deadline = loop_.clock().steady() + options_.timeout,
                      .stop = scope.token(),
                      .progress = {},
                      .consent = call.consent,
                      .permissions = common_permissions(site)};
  const runtime::Completion<Outcome> done(loop_);
  Outcome outcome;
  {
    running_.spawn(drive(tool, std::move(context), std::move(call.arguments), done));
    const std::stop_callback on_stop(scope.token(), [done] { done.resolve(std::nullopt); });
    outcome = co_await done;
  }
  if (!outcome) {
    ++abandoned_[call.name];
    if (abandoned_[call.name] == 0) abandoned_.erase(call.name);  // it has ended meanwhile
    if (!scope.timed_out()) co_return fail(Code::kCancelled, "{} was cancelled", call.name);
    outcome = fail(scope.reason(call.name));
  }
  if (!*outcome) {
    if (stop.stop_requested() && outcome->error().code == Code::kCancelled) co_return fail(outcome->error());
    outcome = ToolResult::error(outcome->error().message);
  }

  // Safety: the leak scan and the sanitizer look at **outcome here, before anybody sees it.

  ResultText text = result_text(call.name, **outcome, options_.max_result_bytes);
  co_return FinishedCall{std::move(call.id),      std::move(call.name), std::move(text.text),
                         std::move(text.preview), (*outcome)->is_error, std::move((*outcome)->credential)};
}

Task<> Runner::drive(ToolPtr tool, ToolContext context, json::Value arguments,
                     runtime::Completion<Outcome> done) {
  Result<ToolResult> result = co_await tool->call(std::move(context), std::move(arguments));
  const bool has_value = result.has_value();
  if (done.resolve(std::move(result))) co_return;
  // Nobody waits any more. The count may go below zero for a moment, when execute() has not resumed yet.
  const std::string& name = tool->info().name;
  if (--abandoned_[name] == 0) abandoned_.erase(name);
  if (has_value) ++late_results_;
}

FinishedCall Runner::without_running(const std::string& id, const std::string& name,
                                     std::string message) const {
  const ResultText text = result_text(name, ToolResult::text(std::move(message)), options_.max_result_bytes);
  return {.id = id, .name = name, .text = text.text, .preview = text.preview, .is_error = true};
}

Task<> Runner::close() { return running_.join(); }

}  // namespace chela::tools
