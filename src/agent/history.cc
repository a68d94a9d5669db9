#include "agent/engine_impl.h"
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
                      .tool_calls = {}});
  }
  void operator()(turn::ToolRequested& in) {
    if (turns_.empty()) return;
    for (tools::PreparedCall& call : in.calls) {
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
      call.result_preview = std::move(in.call.preview);
      return;
    }
    // A tool that the client ran.
    turns_.back().tool_calls.push_back({.id = in.call.id,
                                        .name = in.call.name,
                                        .arguments = {},
                                        .has_result = true,
                                        .has_error = in.call.is_error,
                                        .result_preview = std::move(in.call.preview)});
  }
  void operator()(turn::Asked&) { set_state(TurnState::kAwaitingApproval); }
  void operator()(turn::Answered&) { set_state(TurnState::kProcessing); }
  void operator()(turn::Steered& in) {
    if (!turns_.empty() && in.next_turn.empty()) turns_.back().steered.push_back(std::move(in.input));
  }
  void operator()(turn::Interrupted&) { end(TurnState::kInterrupted); }
  void operator()(turn::TurnFinished& in) {
    if (!turns_.empty()) turns_.back().response = std::move(in.reply);
    end(TurnState::kCompleted);
  }
  void operator()(turn::TurnFailed& in) {
    if (!turns_.empty()) turns_.back().error = std::move(in.error.message);
    end(TurnState::kFailed);
  }
  void operator()(turn::Forked&) {
    if (!turns_.empty() && turns_.back().completed_at == 0) end(TurnState::kInterrupted);
  }
  void operator()(turn::ModelRequested&) {}
  void operator()(turn::ModelAnswered&) {}
  void operator()(turn::ToolStarted&) {}
  void operator()(turn::Compacted&) {}

 private:
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
};

}  // namespace

std::string_view turn_state_name(TurnState state) {
  switch (state) {
    case TurnState::kProcessing:
      return "processing";
    case TurnState::kAwaitingApproval:
      return "awaiting_approval";
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
  const Result<ThreadPtr> thread = co_await open_thread(scope, thread_id);
  if (!thread) co_return fail(thread.error());
  const Result<std::vector<store::LogRecord>> records = co_await whole_log(scope, thread_id, 0);
  if (!records) co_return fail(records.error());
  HistoryBuilder builder;
  for (const store::LogRecord& record : *records) {
    Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input) co_return fail(input.error());
    builder.add(record, std::move(*input));
  }
  const turn::State& state = (*thread)->state;
  History history{.thread_id = thread_id, .turns = builder.take(), .pending_approval = std::nullopt};
  if (!history.turns.empty() && history.turns.back().id == state.start.turn && turn::awaits_client(state))
    history.turns.back().state = TurnState::kAwaitingClient;
  if (before)
    std::erase_if(history.turns, [&](const HistoryTurn& turn) { return turn.started_at >= *before; });
  if (history.turns.size() > limit) {
    history.has_more = true;
    history.turns.erase(history.turns.begin(), history.turns.end() - static_cast<std::ptrdiff_t>(limit));
  }
  if (const turn::Call* call = turn::pending_approval(state)) {
    history.pending_approval = PendingApproval{call->request_id,           thread_id,
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
  const UnixMs now = d_.loop.clock().now();
  const store::ThreadRow& from = (*source)->row;
  const Result<store::ThreadRow> created = co_await d_.log.ensure_thread({.id = d_.ids.next(),
                                                                          .scope = from.scope,
                                                                          .channel = from.channel,
                                                                          .external_thread = {},
                                                                          .title = from.title,
                                                                          .open_turn = {},
                                                                          .transcript_hash = {},
                                                                          .created_at = now,
                                                                          .updated_at = now});
  if (!created) co_return fail(created.error());
  const Result<ThreadPtr> thread = co_await open_thread(scope, created->id);
  if (!thread) co_return fail(thread.error());
  // The state is folded anew from the other thread's records once this record is written.
  const Result<> durable = co_await append(*thread, turn::Forked{thread_id, at}, store::Durability::kBarrier);
  if (!durable) co_return fail(durable.error());
  const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
  const Result<> loaded = co_await load(*thread);
  if (!loaded) co_return fail(loaded.error());
  co_return info_of((*thread)->row, &(*thread)->state);
}

}  // namespace chela::agent
