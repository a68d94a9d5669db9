#include "agent/event_mapping.h"

#include <algorithm>

#include "agent/turn/records.h"

namespace chela::agent {
namespace {

using json::Value;

Value usage_json(const llm::Usage& usage) {
  return Value::object({{"input_tokens", usage.input_tokens},
                        {"output_tokens", usage.output_tokens},
                        {"cached_tokens", usage.cached_tokens}});
}

// Collects the events of one record.
class Mapper {
 public:
  explicit Mapper(const store::LogRecord& record) : record_(record) {}

  std::vector<MappedEvent> take() { return std::move(events_); }

  void operator()(const turn::TurnStarted& in) {
    add("turn_started",
        {{"message_id", in.message_id}, {"number", in.number}, {"model", in.model}, {"agent", in.agent}});
    add("thinking", {{"message", "Processing..."}});
  }
  void operator()(const turn::ModelAnswered& in) {
    Value data = Value::object({{"model", in.answer.model}, {"usage", usage_json(in.answer.usage)}});
    if (!in.answer.provider.empty()) data.set("provider", in.answer.provider);
    if (!in.choices.empty()) data.set("choices", in.choices);
    const bool cached =
        std::ranges::any_of(in.choices, [](const Value& choice) { return choice.bool_or("cached", false); });
    if (cached) data.set("cached", true);
    add("usage", *data.as_object());
  }
  void operator()(const turn::ToolStarted& in) {
    add("tool_started", {{"name", in.name}, {"call_id", in.id}});
  }
  void operator()(const turn::ToolFinished& in) {
    json::Object completed{{"name", in.call.name}, {"call_id", in.call.id}, {"success", !in.call.is_error}};
    if (in.call.is_error) completed.set("error", preview_of(in));
    add("tool_completed", std::move(completed));
    if (!in.call.is_error)
      add("tool_result", {{"name", in.call.name}, {"call_id", in.call.id}, {"preview", in.call.preview}});
  }
  void operator()(const turn::Asked& in) {
    add("approval_needed", {{"request_id", in.request_id},
                            {"tool_name", in.tool_name},
                            {"description", in.description},
                            {"parameters", json::write_pretty(in.arguments)}});
  }
  void operator()(const turn::Answered& in) {
    add("approval_resolved", {{"request_id", in.request_id},
                              {"decision", decision_name(in.decision)},
                              {"approved", in.decision != Decision::kDeny}});
  }
  void operator()(const turn::CredentialAsked& in) {
    json::Object data{{"request_id", in.request_id},
                      {"extension_name", in.name},
                      {"instructions", in.instructions},
                      {"expires_at", format_rfc3339(in.expires_at)}};
    if (!in.auth_url.empty()) data.set("auth_url", in.auth_url);
    if (!in.setup_url.empty()) data.set("setup_url", in.setup_url);
    add("auth_required", std::move(data));
  }
  void operator()(const turn::CredentialAnswered& in) {
    add("auth_completed", {{"request_id", in.request_id},
                           {"extension_name", in.name},
                           {"success", in.end == turn::CredentialEnd::kStored},
                           {"message", fmt::format("The credential {} was {}.", in.name,
                                                   in.end == turn::CredentialEnd::kExpired
                                                       ? "not given in time"
                                                       : turn::credential_end_name(in.end))}});
  }
  void operator()(const turn::Steered& in) {
    const bool waits = !in.next_turn.empty();
    add("status",
        {{"message", waits ? "Your message waits for its turn" : "Your message joins the running turn"},
         {"message_id", in.message_id}});
  }
  void operator()(const turn::Compacted& in) {
    add("compacted", {{"tokens_before", in.plan.tokens_before}, {"tokens_after", in.plan.tokens_after}});
    if (record_.turn.empty()) changed("compacted");  // a person asked for it
  }
  void operator()(const turn::Interrupted& in) {
    add("status", {{"message", "Interrupted."}, {"reason", in.reason}});
    add("turn_finished", {{"state", "interrupted"}});
  }
  void operator()(const turn::TurnFinished& in) {
    add("response", {{"content", in.reply}});
    add("turn_finished", {{"state", "completed"},
                          {"finish_reason", llm::finish_reason_name(in.finish_reason)},
                          {"usage", usage_json(in.usage)}});
  }
  void operator()(const turn::TurnFailed& in) {
    add("error", {{"message", in.error.message}, {"code", code_name(in.error.code)}});
    add("turn_finished", {{"state", "failed"}, {"error", json::from_error(in.error)}});
  }
  void operator()(const turn::ModelRequested&) {}
  void operator()(const turn::ToolRequested&) {}
  void operator()(const turn::Forked&) {}
  void operator()(const turn::Undone&) { changed("undone"); }
  void operator()(const turn::Redone&) { changed("redone"); }
  void operator()(const turn::Cleared&) { changed("cleared"); }

 private:
  void changed(std::string_view reason) { add("thread_changed", {{"reason", reason}}); }
  void add(std::string_view type, json::Object fields) {
    Value data = event_data(type, record_.thread, record_.turn);
    for (json::Member& m : fields) data.set(std::move(m.key), std::move(m.value));
    events_.push_back({std::string(type), std::move(data)});
  }

  const store::LogRecord& record_;
  std::vector<MappedEvent> events_;
};

}  // namespace

std::string preview_of(const turn::ToolFinished& finished) {
  return finished.ending == turn::Ending::kDenied ? "declined" : finished.call.preview;
}

json::Value event_data(std::string_view type, std::string_view thread, std::string_view turn) {
  return Value::object({{"type", type}, {"thread_id", thread}, {"turn_id", turn}});
}

std::vector<MappedEvent> events_of(const store::LogRecord& record) {
  const Result<turn::Input> input = turn::from_body(record.kind, record.body);
  // A record of a newer program is of no use to this one's clients.
  if (!input) return {};
  Mapper mapper(record);
  std::visit(mapper, *input);
  return mapper.take();
}

}  // namespace chela::agent
