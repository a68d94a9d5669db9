#include "agent/traces/export.h"

#include <algorithm>
#include <set>

#include "agent/traces/expectations.h"
#include "agent/traces/limits.h"
#include "agent/traces/templates.h"
#include "agent/traces/thread_log.h"
#include "agent/turn/call_ids.h"
#include "agent/turn/records.h"
#include "base/utf8.h"

namespace chela::agent::traces {
namespace {

using Kind = TraceStep::Kind;

// What stands in a trace for a credential that was given: its value is in no log.
constexpr std::string_view kGiven = "[redacted]";

bool has_path(const std::vector<TraceDocument>& documents, std::string_view path) {
  return std::any_of(documents.begin(), documents.end(),
                     [&](const TraceDocument& each) { return each.path == path; });
}

// Follows a log, and has the state beside it for what a record alone does not say.
class Exporter {
 public:
  explicit Exporter(std::string_view model_name) { trace_.model_name = model_name; }

  void add(turn::Input input) {
    std::visit([this](auto& each) { take(each); }, input);
    state_ = turn::advance(std::move(state_), std::move(input)).state;
  }

  Trace finish() {
    end_turn();
    return std::move(trace_);
  }

 private:
  void begin_turn(std::string input) {
    end_turn();
    trace_.turns.push_back({.user_input = std::move(input)});
    observed_ = {};
    running_ = true;
  }
  void end_turn() {
    if (!running_ || trace_.turns.empty()) return;
    if (waiting_)
      observed_.state = turn::pending_credential(state_) != nullptr ? "awaiting_auth" : "awaiting_approval";
    Expects expects = described(observed_);
    if (observed_.state == "interrupted") expects = {.state = observed_.state};
    trace_.turns.back().expects = std::move(expects);
    running_ = false;
  }
  // Something that is no turn: a command.
  void command(std::string_view word) {
    end_turn();
    trace_.turns.push_back({.user_input = std::string(word)});
  }
  std::vector<TraceStep>& steps() {
    if (trace_.turns.empty()) trace_.turns.emplace_back();
    return trace_.turns.back().steps;
  }
  void said(std::string text) { steps().push_back({.kind = Kind::kUserInput, .content = std::move(text)}); }
  void push(TraceStep step) {
    step.hint = std::exchange(hint_, {});
    step.expected_results = std::exchange(results_, {});
    steps().push_back(std::move(step));
    for (std::string& each : std::exchange(held_, {})) said(std::move(each));
    requested_ = false;
  }

  // What a run of the trace will miss; at most as many as a reader takes.
  void leave_out(std::string what) {
    if (trace_.left_out.size() < kMaxTraceSteps &&
        std::ranges::find(trace_.left_out, what) == trace_.left_out.end())
      trace_.left_out.push_back(std::move(what));
  }

  void take(const turn::TurnStarted& in) {
    begin_turn(in.input);
    for (const turn::Attachment& each : in.attachments) leave_out("the attachment " + each.name);
    if (trace_.model_name.empty()) trace_.model_name = "recorded-" + in.model;
    if (trace_.settings.empty() && in.max_iterations > 0) {
      trace_.settings = {{"agent.max_tool_iterations", fmt::to_string(in.max_iterations)},
                         {"agent.context_tokens", fmt::to_string(in.context_tokens)}};
    }
    last_message_ = in.input;
    call_ids_.clear();
    arguments_.clear();
    results_.clear();
    waiting_ = requested_ = false;
  }
  void take(const turn::ModelRequested&) {
    requested_ = true;
    hint_ = {.last_user_message_contains = std::string(utf8::prefix(last_message_, kMaxTraceHintBytes)),
             .min_message_count = static_cast<std::int64_t>(state_.conversation.entries().size())};
    if (hint_.last_user_message_contains->empty()) hint_.last_user_message_contains.reset();
  }
  void take(const turn::ModelAnswered& in) {
    TraceStep step{.kind = in.answer.tool_calls.empty() ? Kind::kText : Kind::kToolCalls,
                   .content = in.answer.text,
                   .input_tokens = in.answer.usage.input_tokens,
                   .output_tokens = in.answer.usage.output_tokens};
    using llm::FinishReason;
    if (in.answer.finish_reason != FinishReason::kStop && in.answer.finish_reason != FinishReason::kToolCalls)
      step.finish_reason = llm::finish_reason_name(in.answer.finish_reason);
    std::vector<llm::ToolCall> calls = in.answer.tool_calls;
    turn::name_calls(state_.start.turn, call_ids_, calls);
    for (llm::ToolCall& each : calls) {
      Result<json::Value> arguments = json::parse(each.arguments);
      const bool usable = arguments && arguments->is_object();
      if (usable) arguments_[each.id] = *arguments;
      step.calls.push_back(
          {each.id, each.name, usable ? std::move(*arguments) : json::Value(each.arguments)});
    }
    push(std::move(step));
  }
  void take(const turn::ToolRequested& in) {
    for (const tools::PreparedCall& each : in.calls) arguments_[each.id] = each.arguments;
  }
  void take(const turn::ToolFinished& in) {
    const tools::FinishedCall& call = in.call;
    if (state_.start.client_tools.contains(call.name))
      leave_out(fmt::format("the client's tool {}", call.name));
    if (call.text.size() <= kMaxTraceResultBytes) results_.push_back({call.id, call.name, call.text});
    observed_.calls.push_back({call.id, call.name, call.text, call.is_error});
    if (!call.is_error) take_world(call);
  }
  void take(const turn::Asked&) { waiting_ = true; }
  void take(const turn::Answered& in) {
    std::string_view word = in.decision == Decision::kDeny     ? "no"
                            : in.decision == Decision::kAlways ? "always"
                                                               : "yes";
    begin_turn(in.input.empty() ? std::string(word) : in.input);
    waiting_ = false;
  }
  void take(const turn::CredentialAsked&) { waiting_ = true; }
  void take(const turn::CredentialAnswered& in) {
    if (in.end == turn::CredentialEnd::kStored) begin_turn(std::string(kGiven));
    waiting_ = false;
  }
  void take(const turn::Steered& in) {
    if (!in.next_turn.empty() || in.input.empty()) return;  // it comes back as TurnStarted
    last_message_ = in.input;
    if (waiting_) {
      begin_turn(in.input);
    } else if (requested_) {
      held_.push_back(in.input);
    } else {
      said(in.input);
    }
  }
  void take(const turn::Compacted& in) {
    if (state_.phase == turn::Phase::kIdle) {
      command(in.plan.summary.empty() ? "/compact" : "/summarize");
      if (!in.plan.summary.empty()) steps().push_back({.content = in.plan.summary});
    } else if (in.refused_length) {
      push({.kind = Kind::kError,
            .content = "the prompt is too long",
            .code = std::string(code_name(Code::kInvalidArgument)),
            .reason = "context_length"});
    }
  }
  void take(const turn::Interrupted&) {
    if (waiting_) {
      begin_turn("/interrupt");
    } else {
      if (requested_) push({});
      said("/interrupt");
    }
    waiting_ = false;
    observed_.state = "interrupted";
    end_turn();
  }
  void take(const turn::TurnFinished& in) {
    observed_.responses.push_back(in.reply);
    end_turn();
  }
  void take(const turn::TurnFailed& in) {
    if (requested_) {
      push({.kind = Kind::kError,
            .content = in.error.message,
            .code = std::string(code_name(in.error.code)),
            .reason = std::string(in.error.detail("reason"))});
    }
    observed_.state = "failed";
    observed_.error = in.error.message;
    end_turn();
  }
  void take(const turn::Undone&) { command("/undo"); }
  void take(const turn::Redone&) { command("/redo"); }
  void take(const turn::Cleared&) { command("/clear"); }
  void take(const turn::Forked&) { end_turn(); }
  void take(const turn::ToolStarted&) {}

  // What a tool found there, unless the conversation itself had put it there.
  void take_world(const tools::FinishedCall& call) {
    const json::Value& arguments = arguments_[call.id];
    const std::string text(without_frame(call.text));
    if (call.name == "read_file") return take_file(arguments, text);
    if (call.name == "write_file") {
      made_.insert("file " + arguments.string_or("path"));
      return;
    }
    const Result<json::Value> result = json::parse(text);
    if (!result || !result->is_object()) return;
    if (call.name == "memory_read") take_document(*result);
    if (call.name == "memory_write") made_.insert("memory " + result->string_or("path"));
    if (call.name == "http") take_exchange(arguments, *result);
    const json::Value* found = call.name == "memory_search" ? result->find("results") : nullptr;
    if (found == nullptr || !found->is_array()) return;
    for (const json::Value& each : *found->as_array()) take_document(each);
  }
  void take_document(const json::Value& found) {
    const std::string path = found.string_or("path");
    if (path.empty() || made_.contains("memory " + path) || has_path(trace_.memory, path)) return;
    trace_.memory.push_back({path, found.string_or("content")});
  }
  void take_file(const json::Value& arguments, std::string text) {
    const std::string path = arguments.string_or("path");
    if (path.empty() || arguments.int_or("offset", 1) > 1 || made_.contains("file " + path) ||
        has_path(trace_.files, path))
      return;
    // The tool's own note about what else there is.
    if (const size_t note = text.rfind("\n[lines "); note != std::string::npos && text.ends_with(']'))
      text.resize(note);
    if (text == fmt::format("[{} is empty]", path)) text.clear();
    trace_.files.push_back({path, std::move(text)});
  }
  void take_exchange(const json::Value& arguments, const json::Value& result) {
    const std::int64_t status = result.int_or("status", 0);
    if (status < 100 || status > 999) return;
    TraceExchange exchange{.method = arguments.string_or("method"),
                           .url = arguments.string_or("url"),
                           .status = static_cast<int>(status),
                           .response_body = result.string_or("body")};
    if (const json::Value* body = arguments.find("body"); body != nullptr && !body->is_null())
      exchange.request_body = body->as_string() != nullptr ? *body->as_string() : json::write(*body);
    if (const json::Value* headers = result.find("headers"); headers != nullptr && headers->is_object()) {
      for (const json::Member& each : *headers->as_object()) {
        if (each.value.as_string() != nullptr)
          exchange.response_headers.emplace_back(each.key, *each.value.as_string());
      }
    }
    trace_.exchanges.push_back(std::move(exchange));
  }

  Trace trace_;
  turn::State state_;
  Observed observed_;     // of the turn that is being written
  bool running_ = false;  // there is one
  bool waiting_ = false;  // for an answer to a question
  bool requested_ = false;
  Hint hint_;
  std::vector<ExpectedResult> results_;  // since the last answer
  std::vector<std::string> held_;        // said while the model was at work
  std::string last_message_;
  std::set<std::string> call_ids_;
  std::map<std::string, json::Value> arguments_;  // of the turn's calls
  std::set<std::string> made_;                    // by the conversation
};

}  // namespace

Result<Trace> trace_of(const json::Array& records, std::string_view model_name) {
  Exporter exporter(model_name);
  for (const json::Value& each : records) {
    const json::Value* body = each.find("body");
    if (body == nullptr) return fail(Code::kInvalidArgument, "a record without a body");
    Result<turn::Input> input = turn::from_body(each.string_or("kind"), json::write(*body));
    if (!input) return fail(input.error());
    exporter.add(std::move(*input));
  }
  return exporter.finish();
}

Task<Result<json::Value>> export_thread(Engine& engine, Scope scope, std::string thread,
                                        std::string model_name, Mask mask) {
  Result<json::Array> records = co_await whole_log(engine, std::move(scope), thread);
  if (!records) co_return fail(records.error());
  // Before anything is cut: half a secret would not be known any more.
  for (json::Value& each : *records) each = masked(std::move(each), mask);
  const Result<Trace> trace = trace_of(*records, model_name);
  if (!trace) co_return fail(trace.error());
  // And again: what was text within text is spread now.
  json::Value value = masked(to_json(*trace), mask);
  if (const Result<Trace> readable = read_trace(layout(value)); !readable)
    co_return fail(readable.error().code, "the thread makes no trace: {}", readable.error().message);
  co_return value;
}

}  // namespace chela::agent::traces
