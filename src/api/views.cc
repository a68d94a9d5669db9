#include "api/views.h"

namespace chela::api {

using json::Value;

Value thread_view(const agent::ThreadInfo& thread) {
  Value view = Value::object({{"id", thread.id},
                              {"state", thread.state},
                              {"turn_count", thread.turn_count},
                              {"created_at", format_rfc3339(thread.created_at)},
                              {"updated_at", format_rfc3339(thread.updated_at)},
                              {"agent", thread.agent},
                              {"channel", thread.channel}});
  if (!thread.external_thread.empty()) view.set("external_thread", thread.external_thread);
  if (!thread.title.empty()) view.set("title", thread.title);
  view.set("thread_type", thread.external_thread == agent::kAssistantThread ? "assistant" : "thread");
  return view;
}

Value usage_view(const llm::Usage& usage) {
  return Value::object({{"prompt_tokens", usage.input_tokens},
                        {"completion_tokens", usage.output_tokens},
                        {"cached_tokens", usage.cached_tokens}});
}

namespace {

Value tool_call_view(const agent::HistoryToolCall& call) {
  Value view = Value::object({{"id", call.id},
                              {"name", call.name},
                              {"arguments", call.arguments},
                              {"has_result", call.has_result},
                              {"has_error", call.has_error}});
  if (call.started_at > 0 && call.finished_at >= call.started_at)
    view.set("duration_ms", call.finished_at - call.started_at);
  if (call.has_result) view.set(call.has_error ? "error" : "result_preview", call.result_preview);
  return view;
}

}  // namespace

Value turn_view(const agent::HistoryTurn& turn) {
  Value view =
      Value::object({{"turn_number", turn.number}, {"turn_id", turn.id}, {"user_input", turn.user_input}});
  view.set("response", turn.response.empty() ? Value() : Value(turn.response));
  view.set("state", agent::turn_state_name(turn.state));
  view.set("started_at", format_rfc3339(turn.started_at));
  view.set("completed_at", turn.completed_at == 0 ? Value() : Value(format_rfc3339(turn.completed_at)));
  Value calls = Value::array();
  for (const agent::HistoryToolCall& call : turn.tool_calls) calls.push_back(tool_call_view(call));
  view.set("tool_calls", std::move(calls));
  Value steps = Value::array();
  for (const agent::HistoryStep& step : turn.steps)
    steps.push_back(step.call.empty() ? Value::object({{"text", step.text}})
                                      : Value::object({{"call", step.call}}));
  view.set("steps", std::move(steps));
  if (!turn.steered.empty()) {
    Value steered = Value::array();
    for (const std::string& each : turn.steered) steered.push_back(each);
    view.set("steered", std::move(steered));
  }
  if (!turn.attachments.empty()) {
    Value attachments = Value::array();
    for (const agent::HistoryAttachment& each : turn.attachments)
      attachments.push_back(Value::object(
          {{"name", each.name}, {"media_type", each.media_type}, {"size", each.size}, {"path", each.path}}));
    view.set("attachments", std::move(attachments));
  }
  if (!turn.error.empty()) view.set("error", turn.error);
  if (!turn.model.empty()) view.set("model", turn.model);
  view.set("usage", usage_view(turn.usage));
  return view;
}

Value approval_view(const agent::PendingApproval& approval) {
  return Value::object({{"request_id", approval.request_id},
                        {"tool_name", approval.tool_name},
                        {"description", approval.description},
                        {"parameters", json::write_pretty(approval.parameters)}});
}

namespace {

Value auth_view(const agent::PendingAuth& auth) {
  Value view = Value::object({{"extension_name", auth.name}, {"instructions", auth.instructions}});
  if (!auth.auth_url.empty()) view.set("auth_url", auth.auth_url);
  if (!auth.setup_url.empty()) view.set("setup_url", auth.setup_url);
  return view;
}

}  // namespace

Value history_view(const agent::History& history) {
  Value turns = Value::array();
  for (const agent::HistoryTurn& turn : history.turns) turns.push_back(turn_view(turn));
  Value view = Value::object(
      {{"thread_id", history.thread_id}, {"turns", std::move(turns)}, {"has_more", history.has_more}});
  if (!history.turns.empty()) view.set("oldest_timestamp", format_rfc3339(history.turns.front().started_at));
  if (history.pending_auth) view.set("pending_auth", auth_view(*history.pending_auth));
  if (!history.last_event_id.empty()) view.set("last_event_id", history.last_event_id);
  if (history.pending_approval) view.set("pending_approval", approval_view(*history.pending_approval));
  return view;
}

Value accepted_view(const agent::Accepted& accepted) {
  Value view = Value::object({{"message_id", accepted.message_id},
                              {"status", "accepted"},
                              {"thread_id", accepted.thread_id},
                              {"turn_id", accepted.turn_id}});
  if (accepted.reply) {
    view.as_object()->erase("turn_id");
    view.set("reply", *accepted.reply);
  }
  if (accepted.duplicate) view.set("duplicate", true);
  return view;
}

Value outcome_view(const agent::TurnOutcome& outcome) {
  Value view = Value::object({{"state", agent::turn_state_name(outcome.state)}});
  if (outcome.state == agent::TurnState::kCompleted) view.set("reply", outcome.reply);
  if (outcome.error) view.set("error", json::from_error(*outcome.error));
  if (outcome.auth) view.set("auth", auth_view(*outcome.auth));
  if (outcome.approval) view.set("approval", approval_view(*outcome.approval));
  view.set("usage", Value::object({{"input_tokens", outcome.usage.input_tokens},
                                   {"output_tokens", outcome.usage.output_tokens},
                                   {"cached_tokens", outcome.usage.cached_tokens}}));
  if (!outcome.model.empty()) view.set("model", outcome.model);
  return view;
}

}  // namespace chela::api
