#include <algorithm>

#include "agent/engine_impl.h"
#include "agent/turn/records.h"
#include "agent/turn/turn_stack.h"

// Saying something again: the last input once more, or an earlier one changed.
namespace chela::agent {
namespace {

// Where a turn that can be seen begins in the log.
struct Beginning {
  std::int64_t number = 0;
  std::string thread;  // whose record it is: of this thread, or of one that it was forked from
  std::int64_t seq = 0;
};

Result<std::vector<Beginning>> beginnings(const std::vector<store::LogRecord>& records) {
  turn::TurnStack<Beginning> turns;
  for (const store::LogRecord& record : records) {
    if (record.kind == "Undone") turns.undo();
    if (record.kind == "Redone") turns.redo();
    if (record.kind == "Cleared") turns.clear();
    if (record.kind != "TurnStarted") continue;
    Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input) return fail(input.error());
    turns.push({std::get<turn::TurnStarted>(*input).number, record.thread, record.seq});
  }
  return turns.take();
}

// The first record of a turn.
template <class Is>
Result<turn::TurnStarted> first_record(const std::vector<store::LogRecord>& records, Is is) {
  for (const store::LogRecord& record : records) {
    if (record.kind != "TurnStarted" || !is(record)) continue;
    Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input) return fail(input.error());
    return std::get<turn::TurnStarted>(std::move(*input));
  }
  return fail(Code::kNotFound, "the log does not have the turn any more");
}

}  // namespace

// A turn that takes another one's place offers the model what its client did.
Task<Result<Inbound>> EngineImpl::with_terms_of(Scope scope, turn::TurnStarted before, Inbound inbound) {
  if (!before.client_tools.empty()) {
    const Result<turn::Sources> sources =
        co_await prompts_.stored(scope, before.system_hash, before.tools_hash);
    if (!sources) co_return fail(sources.error());
    for (const llm::ToolSpec& tool : sources->tools->specs) {
      if (before.client_tools.contains(tool.name)) inbound.client_tools.push_back(tool);
    }
  }
  if (!before.client_system_hash.empty()) {
    Result<std::string> system = co_await d_.blobs.get(scope, before.client_system_hash);
    if (!system) co_return fail(system.error());
    inbound.client_system = std::move(*system);
  }
  if (inbound.client_key.empty()) inbound.client_key = std::move(before.client_key);
  inbound.sampling = std::move(before.sampling);
  inbound.tool_choice = before.tool_choice;
  inbound.tool_choice_name = std::move(before.tool_choice_name);
  co_return inbound;
}

// The last turn is taken back and its input comes again, in one step.
Task<Result<Accepted>> EngineImpl::retry(Scope scope, std::string thread_id, std::string key,
                                         op::Permissions permissions) {
  Inbound inbound{.scope = normalised(std::move(scope)),
                  .channel = {},
                  .thread_id = std::move(thread_id),
                  .content = {},
                  .idempotency_key = std::move(key),
                  .permissions = std::move(permissions)};
  if (const Result<> usable = check_key(inbound); !usable) co_return fail(usable.error());
  const KeyGuard taken = co_await take_key(inbound);
  const Result<std::optional<Accepted>> before = co_await seen_before(inbound);
  if (!before) co_return fail(before.error());
  if (*before) co_return **before;
  const Result<ThreadPtr> opened = co_await open_thread(inbound.scope, inbound.thread_id);
  if (!opened) co_return fail(opened.error());
  const ThreadPtr& thread = *opened;
  const runtime::Mutex::Guard guard = co_await thread->mutex.lock();
  if (thread->broken) co_return fail(*thread->broken);
  const turn::State& state = thread->state;
  if (state.phase != turn::Phase::kIdle || !state.queue.empty())
    co_return fail(Code::kConflict, "a turn is in progress; wait for it, or interrupt it");
  if (state.undo.empty()) co_return fail(Code::kConflict, "there is no turn to try again");
  const turn::Checkpoint last = state.undo.back();
  // What joined the turn is part of its input now.
  if (last.input.size() > d_.settings.max_message_bytes) {
    co_return fail(Code::kTooLarge,
                   "all that was said in the turn has {} bytes; at most {} are allowed in one message",
                   last.input.size(), d_.settings.max_message_bytes);
  }
  const Result<std::vector<store::LogRecord>> records =
      co_await whole_log(thread->row.scope, thread->row.id, 0);
  if (!records) co_return fail(records.error());
  Result<turn::TurnStarted> started =
      first_record(*records, [&last](const store::LogRecord& record) { return record.turn == last.turn; });
  if (!started) co_return fail(started.error());
  Result<std::vector<Attached>> attached = co_await recorded_attachments(thread->row.scope, last.attachments);
  if (!attached) co_return fail(attached.error());
  inbound.channel = thread->row.channel;
  inbound.content = last.input;
  Result<Inbound> again = co_await with_terms_of(thread->row.scope, std::move(*started), std::move(inbound));
  if (!again) co_return fail(again.error());
  Prelude prelude{.records = {turn::Undone{last.turn, last.number}},
                  .number = last.number,
                  .add_turns = -1,
                  .attached = std::move(*attached)};
  co_return co_await start_turn(thread, std::move(*again), d_.ids.next(), d_.ids.next(), std::move(prelude));
}

// The conversation up to the turn goes on in a new thread, with other words.
Task<Result<Accepted>> EngineImpl::edit(std::int64_t turn_number, Inbound inbound) {
  inbound.scope = normalised(std::move(inbound.scope));
  if (const Result<> usable = check_message(inbound); !usable) co_return fail(usable.error());
  if (!std::holds_alternative<commands::UserText>(commands::parse(inbound.content)))
    co_return fail(Code::kInvalidArgument, "a slash command cannot take the place of a message");
  const KeyGuard taken = co_await take_key(inbound);
  const Result<std::optional<Accepted>> before = co_await seen_before(inbound);
  if (!before) co_return fail(before.error());
  const Result<ThreadPtr> opened = co_await open_thread(inbound.scope, inbound.thread_id);
  if (!opened) co_return fail(opened.error());
  if (inbound.reach == Inbound::Reach::kThreadsOfAgent && (*opened)->row.scope.agent != inbound.scope.agent)
    co_return fail(Code::kNotFound, "the agent '{}' has no thread '{}'", inbound.scope.agent,
                   inbound.thread_id);
  inbound.scope.agent = (*opened)->row.scope.agent;
  inbound.channel = (*opened)->row.channel;
  if (*before) {
    // The first try may have ended between its record and this.
    const Result<> active = co_await make_active(inbound.scope, inbound.channel, (**before).thread_id);
    if (!active) co_return fail(active.error());
    co_return **before;
  }
  const Result<std::vector<store::LogRecord>> records =
      co_await whole_log((*opened)->row.scope, inbound.thread_id, 0);
  if (!records) co_return fail(records.error());
  const Result<std::vector<Beginning>> turns = beginnings(*records);
  if (!turns) co_return fail(turns.error());
  const auto found = std::find_if(turns->begin(), turns->end(),
                                  [&](const Beginning& each) { return each.number == turn_number; });
  if (found == turns->end()) co_return fail(Code::kNotFound, "the thread has no turn {}", turn_number);

  Result<turn::TurnStarted> started = first_record(*records, [&](const store::LogRecord& record) {
    return record.thread == found->thread && record.seq == found->seq;
  });
  if (!started) co_return fail(started.error());
  // With the log's first record goes what its client had told before.
  if (found->seq == 1) inbound.history = std::move(started->history);
  Result<Inbound> complete =
      co_await with_terms_of((*opened)->row.scope, std::move(*started), std::move(inbound));
  if (!complete) co_return fail(complete.error());
  Result<Inbound> passed = co_await through_hooks(*opened, std::move(*complete));
  if (!passed) co_return fail(passed.error());
  Result<Branch> branch = co_await branch_off((*opened)->row, found->thread, found->seq - 1);
  if (!branch) co_return fail(branch.error());
  const ThreadPtr& thread = branch->thread;
  const runtime::Mutex::Guard guard = co_await thread->mutex.lock();
  const std::string channel = passed->channel;
  const Result<Accepted> accepted = co_await start_turn(thread, std::move(*passed), d_.ids.next(),
                                                        d_.ids.next(), std::move(branch->prelude));
  if (!accepted) {
    threads_.remove(thread);  // its state is ahead of its empty log
    co_return fail(accepted.error());
  }
  const Result<> active = co_await make_active(thread->row.scope, channel, thread->row.id);
  if (!active) co_return fail(active.error());
  co_return *accepted;
}

// A new thread whose conversation is that of another one up to its record `at`; its first record, which says so, is still to be
// written. at = 0: an empty conversation.
Task<Result<EngineImpl::Branch>> EngineImpl::branch_off(store::ThreadRow like, std::string from,
                                                        std::int64_t at) {
  turn::State state;
  Branch branch;
  if (at > 0) {
    const Result<std::vector<store::LogRecord>> records = co_await whole_log(like.scope, from, at);
    if (!records) co_return fail(records.error());
    const auto forks = std::count_if(records->begin(), records->end(),
                                     [](const store::LogRecord& record) { return record.kind == "Forked"; });
    if (forks >= kMaxForkDepth) {
      co_return fail(Code::kUnprocessable,
                     "the thread is a fork of a fork, {} times over; begin a new thread instead", forks);
    }
    Result<turn::State> folded = fold(*records);
    if (!folded) co_return fail(folded.error());
    state = std::move(*folded);
    branch.prelude.records.emplace_back(turn::Forked{from, at});
  }
  branch.prelude.number = state.turns;
  branch.prelude.add_turns = state.turns;
  branch.thread = new_draft(like.scope, like.channel, "");
  if (at > 0) branch.thread->row.title = like.title;
  branch.thread->state = std::move(state);
  co_return branch;
}

}  // namespace chela::agent
