#include <algorithm>
#include <array>

#include "agent/engine_impl.h"
#include "agent/turn/records.h"

// What an idempotency key was used for before, and what came of it.
namespace chela::agent {
namespace {

// The turn that a message started, joined, answered or waits to start; "" when the log does not say.
std::string turn_of_message(const std::vector<store::LogRecord>& records, const std::string& message_id) {
  for (const store::LogRecord& record : records) {
    static constexpr std::array<std::string_view, 4> kKinds{"TurnStarted", "Steered", "Answered",
                                                            "ToolFinished"};
    if (std::find(kKinds.begin(), kKinds.end(), record.kind) == kKinds.end()) continue;
    const Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input || turn::message_of(*input) != message_id) continue;
    const auto* steered = std::get_if<turn::Steered>(&*input);
    return steered != nullptr && !steered->next_turn.empty() ? steered->next_turn : record.turn;
  }
  return {};
}

// How a turn ended, by the state after its last record.
TurnOutcome outcome_of(turn::State state, TurnState ending) {
  TurnOutcome outcome{.state = ending,
                      .reply = {},
                      .visible = std::move(state.visible),
                      .usage = state.usage,
                      .model = std::move(state.answered_by)};
  if (ending == TurnState::kCompleted) {
    outcome.reply = std::move(state.reply);
    outcome.finish_reason = state.finish_reason;
  } else if (ending == TurnState::kFailed) {
    outcome.error = std::move(state.error);
  }
  return outcome;
}

}  // namespace

Task<Result<std::optional<Accepted>>> EngineImpl::seen_before(const Inbound& inbound) {
  if (inbound.idempotency_key.empty()) co_return std::optional<Accepted>();
  const Scope scope = inbound.scope;
  const auto first =
      co_await d_.log.idempotent_message(scope, inbound.idempotency_key, d_.loop.clock().now());
  if (!first) co_return fail(first.error());
  if (!*first) co_return std::optional<Accepted>();
  const auto& [message_id, thread_id] = **first;
  const Result<std::vector<store::LogRecord>> records = co_await whole_log(scope, thread_id, 0);
  if (!records) co_return fail(records.error());
  std::string turn_id = turn_of_message(*records, message_id);
  if (!turn_id.empty()) recall_outcome(scope, thread_id, turn_id, *records);
  co_return Accepted{
      .message_id = message_id, .thread_id = thread_id, .turn_id = std::move(turn_id), .duplicate = true};
}

// Keeps the key of a command that no record keeps it with. Under the key's lock.
Task<Result<>> EngineImpl::keep_key(Scope scope, std::string thread_id, std::string key,
                                    std::string message_id) {
  const auto first = co_await d_.log.idempotent_message(scope, key, d_.loop.clock().now());
  if (!first) co_return fail(first.error());
  if (*first) co_return Result<>{};
  const Result<ThreadPtr> thread = co_await open_thread(scope, std::move(thread_id));
  if (!thread) co_return fail(thread.error());
  co_return co_await append_all(*thread, {}, store::Durability::kBarrier,
                                {.idempotency = idempotency(key, message_id)});
}

Task<Result<>> EngineImpl::recall_turn(Scope scope, std::string thread_id, std::string turn_id) {
  if (watches_.contains(turn_id)) co_return Result<>{};
  const Result<std::vector<store::LogRecord>> records = co_await whole_log(scope, thread_id, 0);
  if (!records) co_return fail(records.error());
  recall_outcome(scope, thread_id, turn_id, *records);
  if (!watches_.contains(turn_id)) co_return fail(Code::kNotFound, "the thread has no turn '{}'", turn_id);
  co_return Result<>{};
}

// Whoever waits for a turn that cannot be found is told that there is none.
void EngineImpl::recall_outcome(const Scope& scope, const std::string& thread, const std::string& turn_id,
                                const std::vector<store::LogRecord>& records) {
  if (watches_.contains(turn_id)) return;
  turn::State state;
  for (const store::LogRecord& record : records) {
    Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input) return;  // the thread cannot be read by this program
    TurnState ending = TurnState::kInterrupted;
    if (std::holds_alternative<turn::TurnFinished>(*input)) ending = TurnState::kCompleted;
    if (std::holds_alternative<turn::TurnFailed>(*input)) ending = TurnState::kFailed;
    const bool ran = state.phase != turn::Phase::kIdle && state.start.turn == turn_id;
    state = turn::advance(std::move(state), std::move(*input)).state;
    if (!ran || state.phase != turn::Phase::kIdle) continue;
    Watch& entry = watches_[turn_id];
    entry.scope = scope;
    entry.thread = thread;
    end_watch(turn_id, outcome_of(std::move(state), ending));
    return;
  }
}

}  // namespace chela::agent
