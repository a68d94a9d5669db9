#include <algorithm>

#include "agent/engine_impl.h"
#include "agent/turn/records.h"
#include "agent/turn/request.h"

// Runs the state machine again over a log and compares what it asks for with what was done.
namespace chela::agent {
namespace {

// Says how a record differs from what the state asked for before it; "" when it fits. Records that come from outside (answers, results,
// messages) fit whenever the state can take them.
class Expectation {
 public:
  Expectation(const turn::State& state, const turn::Sources& sources, ReplayReport& report)
      : state_(state), sources_(sources), report_(report), effects_(turn::effects(state)) {}

  std::string operator()(const turn::ModelRequested& in) {
    if (!wants<turn::CallModel>()) return differs("a model call");
    ++report_.requests;
    const std::string hash = turn::request_hash(turn::build_request(state_, sources_), sources_.tools->hash);
    if (hash != in.hash)
      return fmt::format("the rebuilt model request has hash {}, the log says {}", hash, in.hash);
    return {};
  }
  std::string operator()(const turn::ToolRequested& in) {
    const auto* wanted = wants<turn::PrepareCalls>();
    if (wanted == nullptr) return differs("a batch of tool calls");
    const bool same =
        std::equal(in.calls.begin(), in.calls.end(), wanted->calls.begin(), wanted->calls.end(),
                   [](const tools::PreparedCall& a, const llm::ToolCall& b) { return a.id == b.id; });
    return same ? std::string() : "the batch holds other calls than the model's answer";
  }
  std::string operator()(const turn::ToolStarted& in) {
    const std::vector<tools::PreparedCall> again = turn::unfinished(state_);
    if (std::any_of(again.begin(), again.end(), [&](const tools::PreparedCall& c) { return c.id == in.id; }))
      return {};  // after a crash
    const auto* wanted = wants<turn::RunCalls>();
    if (wanted == nullptr) return differs("the start of a tool");
    const bool found = std::any_of(wanted->calls.begin(), wanted->calls.end(),
                                   [&](const tools::PreparedCall& c) { return c.id == in.id; });
    return found ? std::string() : fmt::format("call {} was started but not due", in.id);
  }
  std::string operator()(const turn::Asked& in) {
    const auto* wanted = wants<turn::Ask>();
    if (wanted == nullptr) return differs("a request for approval");
    return wanted->call.id == in.call_id
               ? std::string()
               : fmt::format("call {} was asked for, due is {}", in.call_id, wanted->call.id);
  }
  std::string operator()(const turn::Compacted& in) {
    ++report_.effects;
    if (state_.phase == turn::Phase::kIdle) return {};  // a person asked for it
    if (in.refused_length) return {};                   // the provider's refusal came from outside
    const auto* wanted = wants<turn::Compact>();
    --report_.effects;
    if (wanted == nullptr) return differs("a compaction");
    return wanted->plan == in.plan ? std::string() : "another compaction was due";
  }
  std::string operator()(const turn::TurnFinished&) {
    return wants<turn::Finish>() != nullptr ? std::string() : differs("the end of the turn");
  }
  std::string operator()(const turn::TurnStarted&) {
    return state_.phase == turn::Phase::kIdle ? std::string() : "a turn begins while one runs";
  }
  std::string operator()(const turn::ModelAnswered&) {
    return state_.phase == turn::Phase::kModel ? std::string() : "an answer without a model call";
  }
  std::string operator()(const turn::ToolFinished&) {
    return state_.phase == turn::Phase::kTools ? std::string() : "a result without a tool call";
  }
  std::string operator()(const turn::Answered&) {
    return turn::pending_approval(state_) != nullptr ? std::string() : "an answer without a question";
  }
  std::string operator()(const turn::CredentialAsked&) {
    return state_.phase == turn::Phase::kTools ? std::string()
                                               : "a credential was asked for without a tool call";
  }
  std::string operator()(const turn::CredentialAnswered&) {
    return turn::pending_credential(state_) != nullptr ? std::string() : "a credential that nobody asked for";
  }
  std::string operator()(const turn::TurnFailed&) { return {}; }
  std::string operator()(const turn::Steered&) { return {}; }
  std::string operator()(const turn::Interrupted&) { return {}; }
  std::string operator()(const turn::Forked&) { return {}; }
  std::string operator()(const turn::Undone& in) {
    const bool fits = idle() && !state_.undo.empty() && state_.undo.back().turn == in.turn;
    return fits ? std::string() : "a turn is undone that is not the last";
  }
  std::string operator()(const turn::Redone& in) {
    const bool fits = idle() && !state_.redo.empty() && state_.redo.back().checkpoint.turn == in.turn;
    return fits ? std::string() : "a turn is redone that was not undone last";
  }
  std::string operator()(const turn::Cleared&) {
    return idle() ? std::string() : "the thread is cleared while a turn runs";
  }

 private:
  bool idle() const { return state_.phase == turn::Phase::kIdle; }

  // The first due effect when it is an E. Counts the comparison.
  template <class E>
  const E* wants() {
    ++report_.effects;
    return effects_.empty() ? nullptr : std::get_if<E>(&effects_.front());
  }
  std::string differs(std::string_view what) const {
    return fmt::format("the log has {}, due is {}", what,
                       effects_.empty() ? "nothing" : turn::effect_name(effects_.front()));
  }

  const turn::State& state_;
  const turn::Sources& sources_;
  ReplayReport& report_;
  std::vector<turn::Effect> effects_;
};

}  // namespace

Task<Result<ReplayReport>> EngineImpl::replay(Scope scope, std::string thread_id, std::int64_t until) {
  const Result<store::ThreadRow> row = co_await d_.log.thread(scope, thread_id);
  if (!row) co_return fail(row.error());
  const Result<std::vector<store::LogRecord>> records = co_await whole_log(scope, thread_id, until);
  if (!records) co_return fail(records.error());
  ReplayReport report;
  turn::State state;
  turn::Sources sources;
  for (const store::LogRecord& record : *records) {
    Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input) co_return fail(input.error());
    ++report.records;
    std::string difference = std::visit(Expectation(state, sources, report), *input);
    if (const auto* started = std::get_if<turn::TurnStarted>(&*input)) {
      // A turn that could not start has none.
      Result<turn::Sources> stored = turn::Sources();
      if (!started->system_hash.empty())
        stored = co_await prompts_.stored(scope, started->system_hash, started->tools_hash);
      if (!stored) difference = "the system prompt or the tools of this turn are missing from the store";
      sources = stored ? std::move(*stored) : turn::Sources();
    }
    if (!difference.empty()) {
      report.differences.push_back(
          fmt::format("record {} ({}) of thread {}: {}", record.seq, record.kind, record.thread, difference));
    }
    state = turn::advance(std::move(state), std::move(*input)).state;
  }
  co_return report;
}

}  // namespace chela::agent
