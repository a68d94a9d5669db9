#include "agent/engine_impl.h"
#include "agent/event_mapping.h"
#include "agent/log_end.h"
#include "agent/turn/call_ids.h"
#include "agent/turn/records.h"

// What happened on a thread, read from its log.
namespace chela::agent {
namespace {

// Builds the turns of a thread from its records, oldest first.
class HistoryBuilder {
 public:
  void add(const store::LogRecord& record, turn::Input input) {
    record_ = &record;
    std::visit(*this, input);
  }
  std::vector<HistoryTurn> take() { return std::move(turns_); }

  void operator()(turn::TurnStarted& in) {
    turns_.push_back({.number = in.number,
                      .id = in.turn,
                      .user_input = std::move(in.input),
                      .steered = {},
                      .response = {},
                      .error = {},
                      .started_at = record_->at,
                      .tool_calls = {},
                      .model = std::move(in.model)});
    add_attachments(in.attachments);
    client_tools_ = std::move(in.client_tools);
    call_ids_.clear();
  }
  // Calls of the client's tools are prepared by nobody: what they say is in the answer alone.
  void operator()(turn::ModelAnswered& in) {
    if (turns_.empty()) return;
    add_usage(in.answer.usage);
    turn::name_calls(turns_.back().id, call_ids_, in.answer.tool_calls);
    if (!in.answer.text.empty())
      turns_.back().steps.push_back({.text = std::move(in.answer.text), .call = {}});
    for (llm::ToolCall& call : in.answer.tool_calls) {
      if (!client_tools_.contains(call.name)) continue;
      turns_.back().steps.push_back({.text = {}, .call = call.id});
      Result<json::Value> arguments = json::parse(call.arguments);
      turns_.back().tool_calls.push_back(
          {.id = std::move(call.id),
           .name = std::move(call.name),
           .arguments = arguments ? std::move(*arguments) : json::Value(std::move(call.arguments)),
           .result_preview = {}});
    }
  }
  void operator()(turn::ToolRequested& in) {
    if (turns_.empty()) return;
    for (tools::PreparedCall& call : in.calls) {
      turns_.back().steps.push_back({.text = {}, .call = call.id});
      turns_.back().tool_calls.push_back(
          {.id = call.id, .name = call.name, .arguments = std::move(call.arguments), .result_preview = {}});
    }
  }
  void operator()(turn::ToolFinished& in) {
    if (turns_.empty()) return;
    for (HistoryToolCall& call : turns_.back().tool_calls) {
      if (call.id != in.call.id) continue;
      call.has_result = true;
      call.has_error = in.call.is_error;
      call.result_preview = preview_of(in);
      call.finished_at = record_->at;
      return;
    }
  }
  void operator()(turn::Asked&) { set_state(TurnState::kAwaitingApproval); }
  void operator()(turn::Answered&) { set_state(TurnState::kProcessing); }
  void operator()(turn::CredentialAsked&) { set_state(TurnState::kAwaitingAuth); }
  void operator()(turn::CredentialAnswered&) { set_state(TurnState::kProcessing); }
  void operator()(turn::Steered& in) {
    if (turns_.empty() || !in.next_turn.empty()) return;
    turns_.back().steered.push_back(std::move(in.input));
    add_attachments(in.attachments);
  }
  void operator()(turn::Interrupted&) { end(TurnState::kInterrupted); }
  void operator()(turn::TurnFinished& in) {
    if (!turns_.empty()) {
      drop_calls_never_made(turns_.back());
      std::vector<HistoryStep>& steps = turns_.back().steps;
      if (!steps.empty() && steps.back().call.empty()) steps.pop_back();  // it is the response
      turns_.back().response = std::move(in.reply);
    }
    end(TurnState::kCompleted);
  }
  void operator()(turn::TurnFailed& in) {
    if (!turns_.empty()) turns_.back().error = std::move(in.error.message);
    end(TurnState::kFailed);
  }
  void operator()(turn::Forked&) {
    if (!turns_.empty() && turns_.back().completed_at == 0) end(TurnState::kInterrupted);
  }
  // Only records of visible turns are read.
  void operator()(turn::Undone&) {}
  void operator()(turn::Redone&) {}
  void operator()(turn::Cleared&) {}
  void operator()(turn::ModelRequested&) {}
  void operator()(turn::ToolStarted& in) {
    if (turns_.empty()) return;
    for (HistoryToolCall& call : turns_.back().tool_calls) {
      if (call.id == in.id) call.started_at = record_->at;
    }
  }
  void operator()(turn::Compacted&) {}

 private:
  // A forced final answer may name calls that nobody made.
  static void drop_calls_never_made(HistoryTurn& turn) {
    for (const HistoryToolCall& call : turn.tool_calls) {
      if (!call.has_result)
        std::erase_if(turn.steps, [&](const HistoryStep& step) { return step.call == call.id; });
    }
    std::erase_if(turn.tool_calls, [](const HistoryToolCall& call) { return !call.has_result; });
  }
  void add_usage(const llm::Usage& usage) {
    llm::Usage& sum = turns_.back().usage;
    sum.input_tokens += usage.input_tokens;
    sum.output_tokens += usage.output_tokens;
    sum.cached_tokens += usage.cached_tokens;
  }
  void add_attachments(std::vector<turn::Attachment>& attachments) {
    for (turn::Attachment& each : attachments) {
      turns_.back().attachments.push_back(
          {std::move(each.name), std::move(each.media_type), each.size, std::move(each.path)});
    }
  }
  void set_state(TurnState state) {
    if (!turns_.empty() && turns_.back().completed_at == 0) turns_.back().state = state;
  }
  void end(TurnState state) {
    if (turns_.empty()) return;
    turns_.back().state = state;
    turns_.back().completed_at = record_->at;
  }

  const store::LogRecord* record_ = nullptr;
  std::vector<HistoryTurn> turns_;
  std::set<std::string> client_tools_;  // of the last turn
  std::set<std::string> call_ids_;
};

}  // namespace

std::string_view turn_state_name(TurnState state) {
  switch (state) {
    case TurnState::kProcessing:
      return "processing";
    case TurnState::kAwaitingApproval:
      return "awaiting_approval";
    case TurnState::kAwaitingAuth:
      return "awaiting_auth";
    case TurnState::kAwaitingClient:
      return "awaiting_client";
    case TurnState::kCompleted:
      return "completed";
    case TurnState::kFailed:
      return "failed";
    case TurnState::kInterrupted:
      return "interrupted";
  }
  return "processing";
}

Task<Result<History>> EngineImpl::history(Scope scope, std::string thread_id, std::size_t limit,
                                          std::optional<UnixMs> before) {
  ThreadPtr thread = threads_.find(thread_id);
  if (thread == nullptr || !thread->loaded) {
    const Result<store::ThreadRow> row = co_await d_.log.thread(scope, thread_id);
    if (!row && row.error().code != Code::kNotFound) co_return fail(row.error());
    // An idle thread need not be folded to be looked at; what another one waits for is in its state.
    if (row && row->open_turn.empty()) co_return co_await past_of(*row, nullptr, limit, before);
  }
  const Result<ThreadPtr> opened = co_await open_thread(scope, thread_id);
  if (!opened) co_return fail(opened.error());
  thread = *opened;
  co_return co_await past_of(thread->row, thread, limit, before);
}

// `thread` is null when it is not in memory.
Task<Result<History>> EngineImpl::past_of(store::ThreadRow row, ThreadPtr thread, std::size_t limit,
                                          std::optional<UnixMs> before) {
  History history{.thread_id = row.id, .turns = {}, .pending_approval = std::nullopt, .last_event_id = {}};
  const Result<LogEnd> end = co_await read_last_turns(d_.log, row.scope, row.id, row.last_seq, limit, before);
  if (!end) co_return fail(end.error());
  HistoryBuilder builder;
  for (const store::LogRecord& record : end->records) {
    Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input) co_return fail(input.error());
    builder.add(record, std::move(*input));
  }
  history.turns = builder.take();
  history.has_more = end->has_more;
  if (end->pos > 0) history.last_event_id = fmt::format("{}.0", end->pos);
  if (thread == nullptr) co_return history;
  const turn::State& state = thread->state;
  if (!history.turns.empty() && history.turns.back().id == state.start.turn && turn::awaits_client(state))
    history.turns.back().state = TurnState::kAwaitingClient;
  history.pending_auth = pending_auth(*thread);
  if (const turn::Call* call = turn::pending_approval(state)) {
    history.pending_approval = PendingApproval{call->request_id,           row.id,
                                               state.start.turn,           call->prepared.name,
                                               call->prepared.description, call->prepared.arguments};
  }
  co_return history;
}

Task<Result<json::Value>> EngineImpl::log(Scope scope, std::string thread_id, std::int64_t after,
                                          std::size_t limit) {
  const Result<store::ThreadRow> row = co_await d_.log.thread(scope, thread_id);
  if (!row) co_return fail(row.error());
  const Result<std::vector<store::LogRecord>> records =
      co_await d_.log.read_thread(scope, thread_id, after, limit);
  if (!records) co_return fail(records.error());
  json::Array list;
  for (const store::LogRecord& record : *records) {
    Result<json::Value> body = json::parse(record.body);
    list.push_back(json::Value::object({{"seq", record.seq},
                                        {"pos", record.pos},
                                        {"at", format_rfc3339(record.at)},
                                        {"kind", record.kind},
                                        {"turn_id", record.turn},
                                        {"body", body ? std::move(*body) : json::Value(record.body)}}));
  }
  co_return json::Value::object(
      {{"thread_id", thread_id}, {"records", std::move(list)}, {"has_more", records->size() == limit}});
}

Task<Result<ThreadInfo>> EngineImpl::fork(Scope scope, std::string thread_id, std::int64_t at) {
  const Result<ThreadPtr> source = co_await open_thread(scope, thread_id);
  if (!source) co_return fail(source.error());
  if (at < 1 || at > (*source)->row.last_seq) {
    co_return fail(Code::kInvalidArgument, "the thread has records 1 to {}; {} is none of them",
                   (*source)->row.last_seq, at);
  }
  Result<Branch> branch = co_await branch_off((*source)->row, thread_id, at);
  if (!branch) co_return fail(branch.error());
  const ThreadPtr& thread = branch->thread;
  const runtime::Mutex::Guard guard = co_await thread->mutex.lock();
  const Result<> durable =
      co_await append_all(thread, std::move(branch->prelude.records), store::Durability::kBarrier,
                          {.add_turns = branch->prelude.add_turns});
  if (!durable) co_return fail(durable.error());
  co_return info_of(thread->row, &thread->state);
}

}  // namespace chela::agent
