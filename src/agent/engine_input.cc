#include <algorithm>
#include <array>

#include "agent/engine_impl.h"
#include "agent/prompt.h"
#include "agent/turn/notes.h"
#include "agent/turn/records.h"
#include "base/ids.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "crypto/hash.h"
#include "hooks/hooks.h"

// Takes in what comes from outside: messages, answers to questions, results of client tools, interrupts.
namespace chela::agent {
namespace {

using store::Durability;

constexpr size_t kMaxTitleBytes = 100;
constexpr size_t kMaxKnownBlobs = 8192;

std::optional<Decision> spoken_decision(std::string_view text) {
  static constexpr std::array<std::string_view, 7> kYes{"yes",      "y",    "approve", "ok",
                                                        "/approve", "/yes", "/y"};
  static constexpr std::array<std::string_view, 6> kAlways{"always",         "a",       "yes always",
                                                           "approve always", "/always", "/a"};
  static constexpr std::array<std::string_view, 8> kNo{"no",     "n",     "deny", "reject",
                                                       "cancel", "/deny", "/no",  "/n"};
  const std::string word = strings::lower(strings::trim(text));
  for (const std::string_view yes : kYes) {
    if (word == yes) return Decision::kApprove;
  }
  for (const std::string_view always : kAlways) {
    if (word == always) return Decision::kAlways;
  }
  for (const std::string_view no : kNo) {
    if (word == no) return Decision::kDeny;
  }
  return std::nullopt;
}

std::string scope_key(const Scope& scope) { return scope.realm + '\0' + scope.user + '\0' + scope.agent; }
std::optional<std::pair<std::string, std::string>> keyed(const std::string& key,
                                                         const std::string& message_id) {
  if (key.empty()) return std::nullopt;
  return std::make_pair(key, message_id);
}
std::string approval_key(const Scope& scope, std::string_view tool) {
  return fmt::format("auto_approve:{}:{}", scope.agent, tool);
}

}  // namespace

Task<Result<Accepted>> EngineImpl::send(Inbound inbound) {
  inbound.scope = normalised(std::move(inbound.scope));
  if (stopping_) co_return fail(Code::kUnavailable, "the engine is stopping");
  if (inbound.content.size() > d_.settings.max_message_bytes) {
    co_return fail(Code::kTooLarge, "the message has {} bytes; at most {} are allowed",
                   inbound.content.size(), d_.settings.max_message_bytes);
  }
  if (!utf8::valid(inbound.content)) co_return fail(Code::kInvalidArgument, "the message is not valid UTF-8");
  if (strings::trim(inbound.content).empty()) co_return fail(Code::kInvalidArgument, "the message is empty");
  if (inbound.content.find('\0') != std::string::npos)
    co_return fail(Code::kInvalidArgument, "the message holds a NUL character");
  if (!inbound.idempotency_key.empty() && !is_foreign_id(inbound.idempotency_key)) {
    co_return fail(Code::kInvalidArgument,
                   "the idempotency key is longer than {} bytes or holds control characters",
                   kMaxForeignIdBytes);
  }
  if (d_.hooks.any(hooks::Point::kBeforeInbound)) {
    const hooks::Outcome outcome = co_await d_.hooks.run(hooks::Point::kBeforeInbound,
                                                         {.user_id = inbound.scope.user,
                                                          .channel = inbound.channel,
                                                          .thread_id = inbound.thread_id,
                                                          .content = inbound.content},
                                                         {});
    if (outcome.rejected) co_return fail(Code::kPermissionDenied, "message rejected: {}", *outcome.rejected);
    inbound.content = outcome.content;
  }

  // Two requests with one key are taken in one after the other, so that the second finds the first.
  std::optional<runtime::Mutex::Guard> key_guard;
  std::string key;
  if (!inbound.idempotency_key.empty()) {
    key = inbound.scope.realm + '\0' + inbound.scope.user + '\0' + inbound.idempotency_key;
    std::unique_ptr<runtime::Mutex>& mutex = keys_[key];
    if (!mutex) mutex = std::make_unique<runtime::Mutex>(d_.loop);
    key_guard.emplace(co_await mutex->lock());
  }
  Result<Accepted> accepted = fail(Code::kInternal, "");
  const Result<std::optional<Accepted>> before = co_await seen_before(inbound);
  if (!before) {
    accepted = fail(before.error());
  } else if (*before) {
    accepted = **before;
  } else {
    const Result<ThreadPtr> thread = co_await thread_for(inbound);
    if (!thread) {
      accepted = fail(thread.error());
    } else {
      const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
      accepted = co_await take_in(*thread, std::move(inbound));
    }
  }
  if (key_guard) {
    key_guard.reset();
    const auto found = keys_.find(key);
    if (found != keys_.end() && !found->second->locked()) keys_.erase(found);
  }
  co_return accepted;
}

Task<Result<std::optional<Accepted>>> EngineImpl::seen_before(const Inbound& inbound) {
  if (inbound.idempotency_key.empty()) co_return std::optional<Accepted>();
  const auto first =
      co_await d_.log.idempotent_message(inbound.scope, inbound.idempotency_key, d_.loop.clock().now());
  if (!first) co_return fail(first.error());
  if (!*first) co_return std::optional<Accepted>();
  const auto& [message_id, thread_id] = **first;
  std::string turn_id = co_await turn_of_message(inbound.scope, thread_id, message_id);
  co_return Accepted{
      .message_id = message_id, .thread_id = thread_id, .turn_id = std::move(turn_id), .duplicate = true};
}

// The turn that a message started, joined or waits to start; "" when the log does not say.
Task<std::string> EngineImpl::turn_of_message(Scope scope, std::string thread_id, std::string message_id) {
  const Result<std::vector<store::LogRecord>> records =
      co_await whole_log(std::move(scope), std::move(thread_id), 0);
  if (!records) co_return std::string();
  for (const store::LogRecord& record : *records) {
    if (record.kind != "TurnStarted" && record.kind != "Steered") continue;
    const Result<turn::Input> input = turn::from_body(record.kind, record.body);
    if (!input) continue;
    if (const auto* started = std::get_if<turn::TurnStarted>(&*input);
        started != nullptr && started->message_id == message_id)
      co_return record.turn;
    if (const auto* steered = std::get_if<turn::Steered>(&*input);
        steered != nullptr && steered->message_id == message_id)
      co_return steered->next_turn.empty() ? record.turn : steered->next_turn;
  }
  co_return std::string();
}

Task<Result<ThreadPtr>> EngineImpl::thread_for(Inbound inbound) {
  std::string id = inbound.thread_id;
  const Result<AgentSpec> spec = spec_of(inbound.scope.agent);
  if (!spec) co_return fail(spec.error());
  if (id.empty() && !inbound.external_thread.empty()) {
    if (!is_foreign_id(inbound.external_thread))
      co_return fail(Code::kInvalidArgument, "the external thread's name is too long or not plain text");
    const UnixMs now = d_.loop.clock().now();
    const auto row = co_await d_.log.ensure_thread({.id = d_.ids.next(),
                                                    .scope = inbound.scope,
                                                    .channel = inbound.channel,
                                                    .external_thread = inbound.external_thread,
                                                    .title = {},
                                                    .open_turn = {},
                                                    .transcript_hash = {},
                                                    .created_at = now,
                                                    .updated_at = now});
    if (!row) co_return fail(row.error());
    id = row->id;
  } else if (id.empty()) {
    const Result<std::string> active = co_await active_thread(inbound.scope, inbound.channel);
    if (!active) co_return fail(active.error());
    id = *active;
  }
  co_return co_await open_thread(inbound.scope, id);
}

// Under the thread's mutex.
Task<Result<Accepted>> EngineImpl::take_in(ThreadPtr thread, Inbound inbound) {
  if (thread->broken)
    co_return fail(Code::kUnavailable,
                   "the thread could not be written a moment ago; send the message again");
  const turn::State& state = thread->state;
  const std::string message_id = d_.ids.next();
  if (const turn::Call* pending = turn::pending_approval(state)) {
    if (const auto decision = spoken_decision(inbound.content)) {
      co_return co_await answer(thread, pending->request_id, *decision,
                                {message_id, inbound.content, inbound.idempotency_key});
    }
  }
  // A message that came while others wait to start their turns takes its place behind them.
  const bool idle = state.phase == turn::Phase::kIdle;
  if (idle && state.queue.empty()) {
    const std::string turn_id = d_.ids.next();
    co_return co_await start_turn(thread, std::move(inbound), message_id, turn_id);
  }
  // A turn that is past its last model call cannot take a message any more: it becomes a turn of its own, as with busy = queue.
  const bool ending = idle || state.phase == turn::Phase::kFinishing || state.phase == turn::Phase::kFailing;
  const bool queued = ending || d_.settings.busy == WhenBusy::kQueue;
  const size_t waiting = queued ? state.queue.size() : state.steering.size();
  const size_t limit = queued ? kMaxQueuedTurns : kMaxSteeringQueue;
  if (waiting >= limit) {
    co_return fail(Code::kRateLimited, "{} messages wait on this thread already; wait for a reply", waiting);
  }
  const std::string turn_id = queued ? d_.ids.next() : state.start.turn;
  if (queued) watch(thread, turn_id);
  const Result<> durable =
      co_await append(thread, turn::Steered{message_id, inbound.content, queued ? turn_id : ""},
                      Durability::kBarrier, {.idempotency = keyed(inbound.idempotency_key, message_id)});
  if (!durable) {
    if (queued)
      end_watch(turn_id, {.state = TurnState::kFailed, .reply = {}, .visible = {}, .error = durable.error()});
    co_return fail(durable.error());
  }
  if (queued) {
    if (state.phase == turn::Phase::kIdle && !stopping_) tasks_.spawn(start_queued(thread));
  } else if (!thread->working && current(*thread, turn_id)) {
    // Nobody works on a turn that could not be recorded a while ago: it goes on now.
    watch(thread, turn_id).outcome = {};
    wake_turn(thread);
  }
  co_return Accepted{
      .message_id = message_id, .thread_id = thread->row.id, .turn_id = turn_id, .joined = !queued};
}

// Starts the turn of the message that waits longest, once the thread is idle.
Task<> EngineImpl::start_queued(ThreadPtr thread) {
  if (thread->state.queue.empty()) co_return;
  const runtime::Mutex::Guard guard = co_await thread->mutex.lock();
  if (thread->broken || stopping_ || thread->state.phase != turn::Phase::kIdle || thread->state.queue.empty())
    co_return;
  const turn::Steered next = thread->state.queue.front();
  Inbound inbound{.scope = thread->row.scope,
                  .channel = thread->row.channel,
                  .thread_id = thread->row.id,
                  .content = next.input};
  const Result<Accepted> started =
      co_await start_turn(thread, std::move(inbound), next.message_id, next.next_turn);
  if (!started)
    end_watch(next.next_turn,
              {.state = TurnState::kFailed, .reply = {}, .visible = {}, .error = started.error()});
}

Task<Result<>> EngineImpl::put_blob(Scope scope, std::string hash, std::string content) {
  std::string key = scope.realm + '\0' + scope.user + '\0' + hash;
  if (stored_blobs_.contains(key)) co_return Result<>{};
  const Result<> stored = co_await d_.blobs.put(std::move(scope), std::move(hash), std::move(content));
  if (stored) {
    if (stored_blobs_.size() >= kMaxKnownBlobs) stored_blobs_.clear();
    stored_blobs_.insert(std::move(key));
  }
  co_return stored;
}

// The system prompt and the tools of a new turn, stored as blobs that its first record names.
Task<Result<turn::Sources>> EngineImpl::sources_for(const Scope& scope, const AgentSpec& agent,
                                                    const Inbound& inbound, turn::TurnStarted& started) {
  turn::Sources sources;
  sources.system = system_prompt(agent, co_await d_.knowledge.identity(scope), inbound.client_system);
  sources.tools = d_.tools.specs(agent.tools);
  for (const llm::ToolSpec& tool : inbound.client_tools) {
    if (d_.tools.find(tool.name) != nullptr) continue;  // own names win
    sources.tools.push_back(tool);
    started.client_tools.insert(tool.name);
  }
  const std::string tools = turn::tools_to_text(sources.tools);
  started.system_hash = crypto::content_hash(sources.system);
  started.tools_hash = crypto::content_hash(tools);
  const Result<> system_stored = co_await put_blob(scope, started.system_hash, sources.system);
  if (!system_stored) co_return fail(system_stored.error());
  const Result<> tools_stored = co_await put_blob(scope, started.tools_hash, tools);
  if (!tools_stored) co_return fail(tools_stored.error());
  co_return sources;
}

Task<Result<Accepted>> EngineImpl::start_turn(ThreadPtr thread, Inbound inbound, std::string message_id,
                                              std::string turn_id) {
  const Scope scope = thread->row.scope;
  const Result<AgentSpec> agent = spec_of(scope.agent);
  if (!agent) co_return fail(agent.error());
  const Result<ModelChoice> model = d_.choose_model(*agent);
  if (!model) co_return fail(model.error());

  const UnixMs now = d_.loop.clock().now();
  turn::TurnStarted started{.turn = turn_id,
                            .number = thread->state.turns,
                            .message_id = message_id,
                            .input = inbound.content,
                            .content = {},
                            .agent = agent->name,
                            .model = model->model,
                            .system_hash = {},
                            .tools_hash = {}};
  started.channel = inbound.channel;
  started.history = inbound.history;
  started.max_iterations = d_.settings.max_iterations;
  started.context_tokens = model->context_tokens;
  started.temperature = inbound.temperature ? inbound.temperature : agent->temperature;
  started.max_tokens = inbound.max_tokens ? inbound.max_tokens : agent->max_tokens;
  started.at = now;
  started.content = user_content(now, co_await d_.knowledge.recall(scope, inbound.content, kMaxRecalledLines),
                                 inbound.content);
  Result<turn::Sources> sources = co_await sources_for(scope, *agent, inbound, started);
  if (!sources) co_return fail(sources.error());
  if (thread->broken)
    co_return fail(Code::kUnavailable,
                   "the thread could not be written a moment ago; send the message again");

  AppendExtras extras{.open_turn = turn_id, .add_turns = 1};
  if (thread->row.title.empty())
    extras.title = std::string(utf8::prefix(strings::trim(inbound.content), kMaxTitleBytes));
  extras.idempotency = keyed(inbound.idempotency_key, message_id);
  watch(thread, turn_id);
  const Result<> durable =
      co_await append(thread, std::move(started), Durability::kBarrier, std::move(extras));
  if (!durable) {
    end_watch(turn_id, {.state = TurnState::kFailed, .reply = {}, .visible = {}, .error = durable.error()});
    co_return fail(durable.error());
  }
  thread->agent = *agent;
  thread->model = *model;
  thread->sources = std::move(*sources);
  thread->working = false;
  turns_started_.add();
  wake_turn(thread);
  co_return Accepted{.message_id = message_id, .thread_id = thread->row.id, .turn_id = turn_id};
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

Task<Result<Accepted>> EngineImpl::decide(Scope scope, std::string request_id, Decision decision) {
  const auto missing = fail(Code::kNotFound, "there is no request '{}' that waits for an answer", request_id);
  const auto found = asked_.find(request_id);
  if (found == asked_.end()) co_return missing;
  const Result<ThreadPtr> thread = co_await open_thread(scope, found->second);
  if (!thread) co_return missing;
  const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
  co_return co_await answer(*thread, request_id, decision, {d_.ids.next(), "", ""});
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
  if (decision == Decision::kAlways) {
    const Result<> stored =
        co_await d_.settings_store.set(scope, approval_key(scope, tool), "true", d_.loop.clock().now());
    if (!stored) co_return fail(stored.error());
    co_await auto_approved(scope);
    auto_approved_[scope_key(scope)].insert(tool);
    if (waits() == nullptr) co_return over;  // interrupted meanwhile
  }
  const Result<> durable =
      co_await append(thread, turn::Answered{request_id, decision, std::move(message.input)},
                      Durability::kBarrier, {.idempotency = keyed(message.key, message.id)});
  if (!durable) co_return fail(durable.error());
  asked_.erase(request_id);
  if (const auto entry = watches_.find(turn_id); entry != watches_.end())
    entry->second.outcome.state = TurnState::kProcessing;
  wake_turn(thread);
  co_return Accepted{.message_id = message.id, .thread_id = thread->row.id, .turn_id = turn_id};
}

Task<Result<Accepted>> EngineImpl::submit_client_results(Scope scope, std::vector<llm::Message> tool_messages,
                                                         std::string thread_id) {
  scope = normalised(std::move(scope));
  const std::string prefix = scope.realm + '\0' + scope.user + '\0';
  const auto nobody = fail(Code::kNotFound, "no turn waits for the result of these tool calls");
  for (const llm::Message& message : tool_messages) {
    if (!thread_id.empty()) break;
    const auto found = with_client_.find(prefix + message.tool_call_id);
    if (found != with_client_.end()) thread_id = found->second;
  }
  if (thread_id.empty()) co_return nobody;
  const Result<ThreadPtr> opened = co_await open_thread(scope, thread_id);
  if (!opened) co_return fail(opened.error());
  const ThreadPtr& thread = *opened;
  const runtime::Mutex::Guard guard = co_await thread->mutex.lock();
  const std::string turn_id = thread->state.start.turn;
  std::optional<Durable> last;
  for (const llm::Message& message : tool_messages) {
    const std::vector<turn::Call>& batch = thread->state.batch;
    const auto call = std::find_if(batch.begin(), batch.end(), [&message](const turn::Call& each) {
      return each.status == turn::CallStatus::kWithClient && each.request.id == message.tool_call_id;
    });
    if (call == batch.end() || !turn::awaits_client(thread->state)) continue;
    const auto waiting = with_client_.find(prefix + message.tool_call_id);
    if (waiting != with_client_.end() && waiting->second == thread_id) with_client_.erase(waiting);
    const std::string text = utf8::sanitize(utf8::prefix(message.content, kMaxToolResultBytes));
    last = append(thread,
                  turn::ToolFinished{{message.tool_call_id, call->request.name, text,
                                      std::string(utf8::prefix(text, 500)), false},
                                     turn::Ending::kClient},
                  Durability::kBarrier);
  }
  if (!last) co_return nobody;
  if (const Result<> durable = co_await *last; !durable) co_return fail(durable.error());
  if (const auto entry = watches_.find(turn_id);
      entry != watches_.end() && entry->second.outcome.state == TurnState::kAwaitingClient) {
    entry->second.outcome.state = TurnState::kProcessing;
  }
  wake_turn(thread);
  co_return Accepted{.message_id = d_.ids.next(), .thread_id = thread->row.id, .turn_id = turn_id};
}

Task<Result<>> EngineImpl::interrupt(Scope scope, std::string thread_id, std::string turn_id) {
  const Result<ThreadPtr> opened = co_await open_thread(normalised(std::move(scope)), std::move(thread_id));
  if (!opened) co_return fail(opened.error());
  const ThreadPtr& thread = *opened;
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
    with_client_.erase(thread->row.scope.realm + '\0' + thread->row.scope.user + '\0' + call.request.id);
  }
  const Durable durable = append(thread, turn::Interrupted{"by the user"}, Durability::kBarrier,
                                 {.open_turn = next_open(*thread)});
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
