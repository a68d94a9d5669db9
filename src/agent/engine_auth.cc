#include <algorithm>

#include "agent/engine_impl.h"
#include "agent/limits.h"
#include "base/strings.h"
#include "obs/log.h"
#include "security/vault.h"

// Credentials that a person is asked for. A value goes from the message straight to the vault: hooks, log, history and model never see it,
// and no text here says it.
namespace chela::agent {

using store::Durability;
using turn::CredentialEnd;

namespace {

std::string_view result_of(CredentialEnd end) {
  switch (end) {
    case CredentialEnd::kStored:
      return "credential stored";
    case CredentialEnd::kCancelled:
      return "cancelled: the person did not give the credential";
    case CredentialEnd::kExpired:
      return "expired: the person did not answer in time";
  }
  return "";
}

// The request while it waits.
const turn::CredentialAsked* asked_for(const turn::State& state, std::string_view request_id) {
  for (const turn::Call& call : state.batch) {
    if (call.status == turn::CallStatus::kNeedsCredential && call.credential.request_id == request_id)
      return &call.credential;
  }
  return nullptr;
}

}  // namespace

std::optional<PendingAuth> EngineImpl::pending_auth(const Thread& thread) {
  const turn::CredentialAsked* asked = turn::pending_credential(thread.state);
  if (asked == nullptr) return std::nullopt;
  return PendingAuth{asked->request_id,   thread.row.id,   thread.state.start.turn, asked->name,
                     asked->instructions, asked->auth_url, asked->setup_url};
}

// A tool has run so far that it needs one.
Task<> EngineImpl::ask_credential(ThreadPtr thread, std::string turn, tools::FinishedCall call) {
  tools::CredentialRequest& wanted = *call.credential;
  if (const Result<> usable = security::check_secret_name(wanted.name); !usable) {
    append(thread,
           turn::ToolFinished{
               d_.tool_runner.without_running(call.id, call.name, "Error: " + usable.error().message),
               turn::Ending::kRan},
           Durability::kLazy);
    co_return;
  }
  turn::CredentialAsked asked{
      .request_id = d_.ids.next(),
      .call_id = call.id,
      .name = std::move(wanted.name),
      .instructions = std::move(wanted.instructions),
      .auth_url = std::move(wanted.auth_url),
      .setup_url = std::move(wanted.setup_url),
      .expires_at = d_.loop.clock().now() + std::chrono::milliseconds(kCredentialTimeout).count(),
      .replacing = wanted.replacing};
  watch_credential(thread, asked);
  const Result<> durable = co_await append(thread, asked, Durability::kBarrier);
  if (!durable) forget_credential(asked.request_id);
  if (durable && current(*thread, turn)) publish_state(thread, turn);
}

// Until it is given, declined or expired.
void EngineImpl::watch_credential(const ThreadPtr& thread, const turn::CredentialAsked& asked) {
  const UnixMs left = std::max<UnixMs>(0, asked.expires_at - d_.loop.clock().now());
  credentials_[asked.request_id] = {
      .thread = thread->row.id, .scope = thread->row.scope, .name = asked.name, .timer = {}};
  expire_at(asked.request_id, d_.loop.clock().steady() + std::chrono::milliseconds(left));
}

void EngineImpl::expire_at(const std::string& request_id, SteadyTime when) {
  const auto found = credentials_.find(request_id);
  if (found == credentials_.end() || stopping_) return;
  found->second.timer = d_.loop.call_at(when, [this, id = request_id] {
    if (!stopping_) tasks_.spawn(expire_credential(id));
  });
}

void EngineImpl::forget_credential(const std::string& request_id) {
  const auto found = credentials_.find(request_id);
  if (found == credentials_.end()) return;
  d_.loop.cancel(found->second.timer);
  credentials_.erase(found);
}

Task<> EngineImpl::expire_credential(std::string request_id) {
  const auto found = credentials_.find(request_id);
  if (found == credentials_.end()) co_return;
  const OpenCredential open = found->second;
  const Result<ThreadPtr> thread = co_await open_thread(open.scope, open.thread);
  if (!thread) {
    log::error("agent", "a credential request could not be ended",
               {{"thread", open.thread}, {"error", thread.error().text()}});
    // It still waits: without another try its turn would for ever.
    expire_at(request_id, d_.loop.clock().steady() + kCredentialRetry);
    co_return;
  }
  const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
  if (asked_for((*thread)->state, request_id) == nullptr) {
    forget_credential(request_id);
    co_return;
  }
  const Result<> ended = co_await end_credential(*thread, request_id, CredentialEnd::kExpired, {});
  if (ended) co_return;
  log::error("agent", "a credential request could not be ended",
             {{"thread", open.thread}, {"error", ended.error().text()}});
  expire_at(request_id, d_.loop.clock().steady() + kCredentialRetry);
}

// The id of the user's request for one of this name, the oldest.
Result<std::string> EngineImpl::credential_request(const Scope& scope, std::string_view name) const {
  std::string first;
  for (const auto& [id, open] : credentials_) {
    const bool fits = open.name == name && open.scope.realm == scope.realm && open.scope.user == scope.user;
    if (fits && (first.empty() || id < first)) first = id;
  }
  if (first.empty()) return fail(Code::kNotFound, "nothing waits for a credential '{}'", name);
  return first;
}

Task<Result<>> EngineImpl::give_credential(Scope scope, std::string name, std::string value) {
  const Result<std::string> id = credential_request(scope, name);
  if (!id) co_return fail(id.error());
  const Result<ThreadPtr> thread = co_await open_thread(scope, std::string(credentials_.at(*id).thread));
  if (!thread) co_return fail(thread.error());
  const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
  co_return co_await keep_credential(*thread, *id, std::move(value), {});
}

Task<Result<>> EngineImpl::cancel_credential(Scope scope, std::string name) {
  const Result<std::string> id = credential_request(scope, name);
  if (!id) co_return fail(id.error());
  const Result<ThreadPtr> thread = co_await open_thread(scope, std::string(credentials_.at(*id).thread));
  if (!thread) co_return fail(thread.error());
  const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
  co_return co_await end_credential(*thread, *id, CredentialEnd::kCancelled, {});
}

// The thread's next message is the credential. Under the thread's mutex.
Task<Result<Accepted>> EngineImpl::take_credential(ThreadPtr thread, Inbound inbound) {
  if (inbound.channel == "v1") {
    // Such a client keeps what was said and sends it again with its next message: the value would reach the model.
    co_return fail(
        Code::kConflict,
        "a credential is asked for, which cannot be given over /v1; use the web page or the terminal, or "
        "send /interrupt");
  }
  if (!inbound.attachments.empty())
    co_return fail(Code::kInvalidArgument, "a credential is asked for; it is a text without attachments");
  const std::string turn = thread->state.start.turn;
  const std::string id = turn::pending_credential(thread->state)->request_id;
  const KeyedMessage message{.id = d_.ids.next(), .key = std::move(inbound.idempotency_key)};
  std::string value(strings::trim(inbound.content));
  crypto::wipe(inbound.content);
  const Result<> kept = co_await keep_credential(thread, id, std::move(value), message);
  if (!kept) co_return fail(kept.error());
  co_return Accepted{.message_id = message.id, .thread_id = thread->row.id, .turn_id = turn, .joined = true};
}

// Nothing that the vault has is replaced unless the person agreed to that when the tool was approved.
Task<Result<>> EngineImpl::store_credential(Scope scope, std::string name, tools::Replacing replacing,
                                            crypto::Secret value) {
  const runtime::Mutex::Guard guard = co_await keeping_.lock();
  if (replacing == tools::Replacing::kNothing) {
    const Result<crypto::Secret> present = co_await d_.vault.get(scope, name);
    if (!present && present.error().code != Code::kNotFound) co_return fail(present.error());
    // The same value again: it was stored, and the engine died before it could say so.
    if (present && strings::constant_time_equals(present->view(), value.view())) co_return Result<>{};
    if (present) {
      co_return fail(
          Code::kConflict,
          "the vault has got a secret {} since it was asked for, which is kept; send /interrupt to go "
          "on without",
          name);
    }
  }
  co_return co_await d_.vault.set(std::move(scope), std::move(name), std::move(value));
}

// Under the thread's mutex.
Task<Result<>> EngineImpl::keep_credential(ThreadPtr thread, std::string request_id, std::string value,
                                           KeyedMessage message) {
  const turn::CredentialAsked* asked = asked_for(thread->state, request_id);
  if (asked == nullptr) co_return fail(Code::kNotFound, "nothing waits for this credential any more");
  if (value.size() > kMaxCredentialBytes) {
    co_return fail(Code::kTooLarge, "the credential has {} bytes; at most {} are taken", value.size(),
                   kMaxCredentialBytes);
  }
  if (const Result<> usable = security::check_secret_value(value); !usable) co_return fail(usable.error());
  const Result<> stored = co_await store_credential(thread->row.scope, asked->name, asked->replacing,
                                                    crypto::Secret::taken_from(value));
  if (!stored) co_return fail(stored.error());
  co_return co_await end_credential(thread, std::move(request_id), CredentialEnd::kStored,
                                    std::move(message));
}

// The turn goes on. Under the thread's mutex.
Task<Result<>> EngineImpl::end_credential(ThreadPtr thread, std::string request_id, CredentialEnd end,
                                          KeyedMessage message) {
  const turn::CredentialAsked* asked = asked_for(thread->state, request_id);
  // An interrupt waits for nobody: it may have come meanwhile.
  if (asked == nullptr) co_return fail(Code::kConflict, "nothing waits for this credential any more");
  const std::string turn = thread->state.start.turn;
  const auto call = std::find_if(thread->state.batch.begin(), thread->state.batch.end(),
                                 [&](const turn::Call& each) { return each.request.id == asked->call_id; });
  tools::FinishedCall finished =
      d_.tool_runner.without_running(asked->call_id, call->request.name, std::string(result_of(end)));
  finished.is_error = end != CredentialEnd::kStored;
  std::vector<turn::Input> records;
  records.emplace_back(turn::CredentialAnswered{request_id, asked->name, end});
  records.emplace_back(turn::ToolFinished{std::move(finished), turn::Ending::kRan});
  const Result<> durable =
      co_await append_all(thread, std::move(records), Durability::kBarrier, {.idempotency = message.kept()});
  if (!durable) co_return fail(durable.error());  // it waits still, and its timer with it
  forget_credential(request_id);
  if (const auto entry = watches_.find(turn); entry != watches_.end())
    entry->second.outcome.state = TurnState::kProcessing;
  wake_turn(thread);
  co_return Result<>{};
}

}  // namespace chela::agent
