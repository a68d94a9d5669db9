#include "agent/traces/scripted_model.h"

#include <algorithm>

#include "agent/traces/templates.h"
#include "runtime/sleep.h"

namespace chela::agent::traces {
namespace {

using Kind = TraceStep::Kind;

std::string text_of(const llm::Request& request) {
  std::string text;
  for (const llm::Message& each : request.messages) {
    text += each.content + "\n";
    for (const llm::ToolCall& call : each.tool_calls) text += call.name + " " + call.arguments + "\n";
  }
  return text;
}

std::map<std::string, std::string> results_in(const llm::Request& request) {
  std::map<std::string, std::string> results;
  for (const llm::Message& each : request.messages) {
    if (each.role == llm::Role::kTool) results[each.tool_call_id] = each.content;
  }
  return results;
}

std::string_view last_user_message(const llm::Request& request) {
  const auto last = std::find_if(request.messages.rbegin(), request.messages.rend(),
                                 [](const llm::Message& each) { return each.role == llm::Role::kUser; });
  return last == request.messages.rend() ? std::string_view() : std::string_view(last->content);
}

}  // namespace

void ScriptedModel::begin_turn(std::vector<TraceStep> steps, Say say) {
  steps_ = std::move(steps);
  next_ = 0;
  say_ = std::move(say);
  // What begins the turn may stand before its first answer once more.
  while (next_ < steps_.size() && steps_[next_].kind == Kind::kUserInput) ++next_;
}

size_t ScriptedModel::unplayed() const {
  return static_cast<size_t>(
      std::count_if(steps_.begin() + static_cast<std::ptrdiff_t>(next_), steps_.end(),
                    [](const TraceStep& each) { return each.kind != Kind::kUserInput; }));
}

void ScriptedModel::compare(const TraceStep& step, const llm::Request& request) {
  const std::optional<std::string>& part = step.hint.last_user_message_contains;
  if (part && last_user_message(request).find(*part) == std::string_view::npos)
    notes_.push_back(fmt::format("request_hint: the last user message does not hold '{}'", *part));
  const auto count = static_cast<std::int64_t>(request.messages.size());
  if (step.hint.min_message_count.value_or(0) > count)
    notes_.push_back(fmt::format("request_hint: {} messages; at least {} were thought to come", count,
                                 *step.hint.min_message_count));
  const std::map<std::string, std::string> results = results_in(request);
  for (const ExpectedResult& each : step.expected_results) {
    const auto found = results.find(each.call_id);
    if (found == results.end())
      notes_.push_back(fmt::format("expected_tool_results: there is no result of {}", each.call_id));
    else if (without_frame(found->second) != without_frame(each.content))
      notes_.push_back(fmt::format("expected_tool_results: {} has another result", each.call_id));
  }
}

Result<llm::Answer> ScriptedModel::answer(const TraceStep& step, const llm::Request& request) {
  if (step.kind == Kind::kError) {
    Error error{.code = code_from_name(step.code).value_or(Code::kUpstream),
                .message = step.content.empty() ? "the trace says that the provider fails" : step.content};
    if (!step.reason.empty()) error.with("reason", step.reason);
    if (step.retry_after_ms) error.retry_after = std::chrono::milliseconds(*step.retry_after_ms);
    // The last thing that happened is what the turn ended with.
    if (unplayed() == 0) error.with("retry", "no");
    return fail(std::move(error));
  }
  llm::Answer out{.text = step.content,
                  .usage = {.input_tokens = step.input_tokens, .output_tokens = step.output_tokens},
                  .finish_reason = step.kind == Kind::kToolCalls ? llm::FinishReason::kToolCalls
                                                                 : llm::FinishReason::kStop,
                  .model = request.model};
  if (!step.finish_reason.empty()) out.finish_reason = llm::finish_reason_from_name(step.finish_reason);
  const std::map<std::string, std::string> results = results_in(request);
  for (const TracedCall& each : step.calls) {
    const json::Value arguments = filled(each.arguments, results);
    const std::string* raw = arguments.as_string();
    out.tool_calls.push_back({each.id, each.name, raw != nullptr ? *raw : json::write(arguments)});
  }
  return out;
}

Task<Result<llm::Answer>> ScriptedModel::complete(llm::Request request, llm::DeltaSink sink,
                                                  std::optional<SteadyTime>, std::stop_token stop) {
  requests_.push_back(text_of(request));
  co_await runtime::yield(loop_);
  if (next_ >= steps_.size()) {
    ++calls_too_many_;
    co_return fail(
        Error{.code = Code::kInvalidArgument, .message = "the trace has no answer left for this model call"}
            .with("retry", "no"));
  }
  const TraceStep step = steps_[next_++];
  compare(step, request);
  while (next_ < steps_.size() && steps_[next_].kind == Kind::kUserInput)
    co_await say_(steps_[next_++].content);
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "the model call was cancelled");
  Result<llm::Answer> made = answer(step, request);
  if (made && !made->text.empty()) sink({.text = made->text, .reasoning = {}});
  co_return made;
}

Task<Result<std::vector<std::string>>> ScriptedModel::models(std::stop_token) {
  co_return std::vector<std::string>();
}

}  // namespace chela::agent::traces
