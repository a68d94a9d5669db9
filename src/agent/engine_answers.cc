#include <algorithm>

#include "agent/engine_impl.h"
#include "base/utf8.h"

// What running turns wait for: answers to their questions and results of client tools. And what ends them: interrupts.
namespace chela::agent {
namespace {

using store::Durability;

constexpr size_t kMaxPreviewBytes = 500;

std::string scope_key(const Scope& scope) { return scope.realm + '\0' + scope.user + '\0' + scope.agent; }
std::string approval_key(const Scope& scope, std::string_view tool) {
  return fmt::format("auto_approve:{}:{}", scope.agent, tool);
}

}  // namespace

std::optional<std::pair<std::string, std::string>> EngineImpl::idempotency(const std::string& key,
                                                                           const std::string& message_id) {
  if (key.empty()) return std::nullopt;
  return std::make_pair(key, message_id);
}

Failure EngineImpl::too_many_wait(size_t waiting) {
  return fail(Code::kRateLimited, "{} messages wait on this thread already; wait for a reply", waiting);
}

Failure EngineImpl::nobody_waits() {
  return fail(Code::kNotFound, "no turn waits for the result of these tool calls");
}

std::string EngineImpl::client_call_key(const Scope& scope, std::string_view call_id) {
  return scope.realm + '\0' + scope.user + '\0' + std::string(call_id);
}

Task<std::set<std::string>> EngineImpl::auto_approved(const Scope& scope) {
  const std::string key = scope_key(scope);
  if (const auto known = auto_approved_.find(key); known != auto_approved_.end()) co_return known->second;
  const std::string prefix = approval_key(scope, "");
  const auto stored = co_await d_.settings_store.list(scope, prefix);
  // Without the list every call is asked for.
  if (!stored) co_return std::set<std::string>();
  std::set<std::string>& tools = auto_approved_[key];
  for (const auto& [name, value] : *stored) tools.insert(name.substr(prefix.size()));
  co_return tools;
}

Task<Result<Accepted>> EngineImpl::decide(Scope scope, std::string request_id, Decision decision,
                                          op::Permissions permissions) {
  return decide_by(std::move(scope), std::move(request_id), decision,
                   {d_.ids.next(), "", "", std::move(permissions)});
}

// An approval is a word that the turn follows: nobody has done for them what they may not do. To decline is free.
Result<> EngineImpl::may_approve(const Scope& scope, const std::string& tool,
                                 const op::Permissions& permissions) const {
  const std::string_view group = d_.tools.group(scope, tool);
  if (group.empty()) return {};  // it has gone, and does not run
  const std::string needed = fmt::format("tools:{}", group);
  if (op::allows(permissions, needed)) return {};
  return fail(Code::kPermissionDenied, "a call of {} is approved by those who may do {}; it waits on", tool,
              needed);
}

Task<Result<Accepted>> EngineImpl::decide_by(Scope scope, std::string request_id, Decision decision,
                                             SaidBy message) {
  const auto missing = fail(Code::kNotFound, "there is no request '{}' that waits for an answer", request_id);
  const auto found = asked_.find(request_id);
  if (found == asked_.end()) co_return missing;
  const Result<ThreadPtr> thread = co_await open_thread(scope, found->second);
  if (!thread) co_return missing;
  const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
  co_return co_await answer(*thread, request_id, decision, std::move(message));
}

// Under the thread's mutex.
Task<Result<Accepted>> EngineImpl::answer(ThreadPtr thread, std::string request_id, Decision decision,
                                          SaidBy message) {
  const auto waits = [&] {
    const turn::Call* call = turn::pending_approval(thread->state);
    return call != nullptr && call->request_id == request_id ? call : nullptr;
  };
  const auto over =
      fail(Code::kConflict, "the request '{}' has been answered already or its turn has ended", request_id);
  const turn::Call* call = waits();
  if (call == nullptr) co_return over;
  const Scope scope = thread->row.scope;
  const std::string tool = call->prepared.name;
  const std::string turn_id = thread->state.start.turn;
  if (decision != Decision::kDeny) {
    if (const Result<> may = may_approve(scope, tool, message.permissions); !may) co_return fail(may.error());
  }
  if (decision == Decision::kAlways) {
    const Result<> stored =
        co_await d_.settings_store.set(scope, approval_key(scope, tool), "true", d_.loop.clock().now());
    if (!stored) co_return fail(stored.error());
    co_await auto_approved(scope);
    auto_approved_[scope_key(scope)].insert(tool);
    if (waits() == nullptr) co_return over;  // interrupted meanwhile
  }
  const Result<> durable =
      co_await append(thread, turn::Answered{request_id, decision, std::move(message.input), message.id},
                      Durability::kBarrier, {.idempotency = idempotency(message.key, message.id)});
  if (!durable) co_return fail(durable.error());
  asked_.erase(request_id);
  if (const auto entry = watches_.find(turn_id); entry != watches_.end())
    entry->second.outcome.state = TurnState::kProcessing;
  wake_turn(thread);
  co_return Accepted{.message_id = message.id, .thread_id = thread->row.id, .turn_id = turn_id};
}

// Results of client tools, and the message that came with them, in one step. Under the thread's mutex.
Task<Result<Accepted>> EngineImpl::take_results(ThreadPtr thread, Inbound inbound) {
  if (!turn::awaits_client(thread->state)) co_return nobody_waits();
  const std::string turn_id = thread->state.start.turn;
  const std::string message_id = d_.ids.next();
  std::vector<turn::Input> inputs;
  std::set<std::string> answered;
  for (const llm::Message& message : inbound.client_results) {
    const std::vector<turn::Call>& batch = thread->state.batch;
    const auto call = std::find_if(batch.begin(), batch.end(), [&message](const turn::Call& each) {
      return each.status == turn::CallStatus::kWithClient && each.request.id == message.tool_call_id;
    });
    if (call == batch.end() || !answered.insert(message.tool_call_id).second) continue;
    const auto waiting = with_client_.find(client_call_key(inbound.scope, message.tool_call_id));
    if (waiting != with_client_.end() && waiting->second == thread->row.id) with_client_.erase(waiting);
    const std::string text = utf8::sanitize(utf8::prefix(message.content, kMaxToolResultBytes));
    inputs.emplace_back(turn::ToolFinished{{message.tool_call_id, call->request.name, text,
                                            std::string(utf8::prefix(text, kMaxPreviewBytes)), false},
                                           turn::Ending::kClient,
                                           message_id});
  }
  if (inputs.empty()) co_return nobody_waits();
  if (!inbound.content.empty()) {
    if (thread->state.steering.size() >= kMaxSteeringQueue) co_return too_many_wait(kMaxSteeringQueue);
    inputs.emplace_back(turn::Steered{.message_id = message_id,
                                      .input = inbound.content,
                                      .with = turn::Steered::With::kResults,
                                      .permissions = inbound.permissions});
  }
  const Result<> durable =
      co_await append_all(thread, std::move(inputs), Durability::kBarrier,
                          {.idempotency = idempotency(inbound.idempotency_key, message_id)});
  if (!durable) co_return fail(durable.error());
  if (const auto entry = watches_.find(turn_id);
      entry != watches_.end() && entry->second.outcome.state == TurnState::kAwaitingClient) {
    entry->second.outcome.state = TurnState::kProcessing;
  }
  wake_turn(thread);
  co_return Accepted{.message_id = message_id, .thread_id = thread->row.id, .turn_id = turn_id};
}

Task<Result<>> EngineImpl::interrupt(Scope scope, std::string thread_id, std::string turn_id) {
  const Result<ThreadPtr> opened = co_await open_thread(normalised(std::move(scope)), std::move(thread_id));
  if (!opened) co_return fail(opened.error());
  co_return co_await interrupt_turn(*opened, std::move(turn_id), {});
}

// Under no lock: what holds one may be what is to end.
Task<Result<>> EngineImpl::interrupt_turn(ThreadPtr thread, std::string turn_id, KeyedMessage message) {
  if (thread->summary && turn_id.empty()) {
    thread->summary->request_stop();
    co_return Result<>{};
  }
  if (thread->state.phase == turn::Phase::kIdle || thread->broken)
    co_return fail(Code::kConflict, "nothing runs on this thread");
  const std::string turn = thread->state.start.turn;
  if (!turn_id.empty() && turn_id != turn) co_return fail(Code::kConflict, "the turn does not run");
  TurnOutcome outcome{.state = TurnState::kInterrupted,
                      .reply = {},
                      .visible = thread->state.visible,
                      .usage = thread->state.usage,
                      .model = thread->state.answered_by};
  for (const turn::Call& call : thread->state.batch) {
    asked_.erase(call.request_id);
    forget_credential(call.credential.request_id);
    with_client_.erase(client_call_key(thread->row.scope, call.request.id));
  }
  const Durable durable = append(thread, turn::Interrupted{"by the user"}, Durability::kBarrier,
                                 {.open_turn = next_open(*thread), .idempotency = message.kept()});
  hub_.end_call(thread->row.scope, thread->row.id);
  thread->stop.request_stop();
  thread->working = false;
  const Result<> written = co_await durable;
  if (!written) co_return fail(written.error());
  turns_interrupted_.add();
  end_watch(turn, std::move(outcome));
  if (!stopping_) tasks_.spawn(start_queued(thread));
  co_return Result<>{};
}

}  // namespace chela::agent
