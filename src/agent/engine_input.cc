#include <algorithm>

#include "agent/engine_impl.h"
#include "agent/prompt.h"
#include "agent/turn/notes.h"
#include "agent/turn/records.h"
#include "agent/turn/transcript.h"
#include "base/ids.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "crypto/hash.h"
#include "hooks/hooks.h"
#include "obs/log.h"

// Takes in messages from outside. What a running turn waits for, and its end, are in engine_answers.cc.
namespace chela::agent {
namespace {

using store::Durability;

constexpr std::string_view kReadMemory = "memory:read";

Sight sight_of(const ModelChoice& model) { return model.sees_images ? Sight::kSeesImages : Sight::kBlind; }

// What a message that waits for its own turn takes there with it.
turn::Terms terms_of(const Inbound& inbound) {
  return {.sampling = inbound.sampling,
          .tool_choice = inbound.tool_choice,
          .tool_choice_name = inbound.tool_choice_name,
          .tools = inbound.client_tools,
          .system = inbound.client_system};
}

// A call that is asked for must be one that can be made.
Result<> check_choice(const Inbound& inbound, const std::vector<llm::ToolSpec>& tools) {
  const auto refused = [](std::string message) {
    return fail(Error{.code = Code::kInvalidArgument, .message = "tool_choice: " + std::move(message)}.with(
        "param", "tool_choice"));
  };
  const std::string& name = inbound.tool_choice_name;
  if (!name.empty() && std::none_of(tools.begin(), tools.end(),
                                    [&name](const llm::ToolSpec& tool) { return tool.name == name; }))
    return refused(fmt::format("there is no tool '{}'", name));
  if (inbound.tool_choice == llm::ToolChoice::kRequired && tools.empty())
    return refused("a call is required, but there are no tools");
  return {};
}

}  // namespace

// Whether the turn of a message that has to wait could start now.
Result<> EngineImpl::check_terms(const Scope& scope, const Inbound& inbound) {
  const Result<AgentSpec> agent = spec_of(scope.agent);
  if (!agent) return fail(agent.error());
  if (inbound.tool_choice_name.empty() && inbound.tool_choice != llm::ToolChoice::kRequired) return {};
  return check_choice(inbound, prompts_.tools_of(scope, *agent, inbound.client_tools)->specs);
}

Task<Result<Accepted>> EngineImpl::send(Inbound inbound) {
  inbound.scope = normalised(std::move(inbound.scope));
  if (stopping_) co_return fail(Code::kUnavailable, "the engine is stopping");
  if (const Result<> usable = check_message(inbound); !usable) co_return fail(usable.error());
  commands::Parsed parsed = commands::parse(inbound.content);
  const bool said = inbound.content.empty() || std::holds_alternative<commands::UserText>(parsed);
  if (!said && !inbound.client_results.empty())
    co_return fail(Code::kInvalidArgument, "send the results of tools without a slash command");

  const KeyGuard taken = co_await take_key(inbound);
  const Result<std::optional<Accepted>> before = co_await seen_before(inbound);
  if (!before) co_return fail(before.error());
  if (*before) {
    if (said || !(**before).turn_id.empty()) co_return **before;
    co_return co_await repeat_command(inbound.scope, **before, std::move(parsed));
  }
  if (!said && !inbound.attachments.empty())
    co_return fail(Code::kInvalidArgument, "a slash command takes no attachments");
  if (!said) co_return co_await run_command(std::move(inbound), std::move(parsed));
  const Result<ThreadPtr> thread = co_await thread_for(inbound);
  if (!thread) co_return fail(thread.error());
  const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
  if (turn::pending_credential((*thread)->state) != nullptr)
    co_return co_await take_credential(*thread, std::move(inbound));
  co_return co_await take_in(*thread, std::move(inbound));
}

Result<> EngineImpl::check_message(const Inbound& inbound) const {
  if (inbound.content.size() > d_.settings.max_message_bytes) {
    return fail(Code::kTooLarge, "the message has {} bytes; at most {} are allowed", inbound.content.size(),
                d_.settings.max_message_bytes);
  }
  if (!utf8::valid(inbound.content)) return fail(Code::kInvalidArgument, "the message is not valid UTF-8");
  const bool only_more =
      (!inbound.client_results.empty() || !inbound.attachments.empty()) && inbound.content.empty();
  if (!only_more && strings::trim(inbound.content).empty())
    return fail(Code::kInvalidArgument, "the message is empty");
  if (inbound.content.find('\0') != std::string::npos)
    return fail(Code::kInvalidArgument, "the message holds a NUL character");
  return check_key(inbound);
}

Result<> EngineImpl::check_key(const Inbound& inbound) {
  if (inbound.idempotency_key.empty() || is_foreign_id(inbound.idempotency_key)) return {};
  return fail(Code::kInvalidArgument,
              "the idempotency key is longer than {} bytes or holds control characters", kMaxForeignIdBytes);
}

Task<EngineImpl::KeyGuard> EngineImpl::take_key(Inbound inbound) {
  if (inbound.idempotency_key.empty()) co_return KeyGuard(*this, "", std::nullopt);
  std::string key = inbound.scope.realm + '\0' + inbound.scope.user + '\0' + inbound.idempotency_key;
  std::unique_ptr<runtime::Mutex>& mutex = keys_[key];
  if (!mutex) mutex = std::make_unique<runtime::Mutex>(d_.loop);
  runtime::Mutex::Guard guard = co_await mutex->lock();
  co_return KeyGuard(*this, std::move(key), std::optional(std::move(guard)));
}

Task<Result<ThreadPtr>> EngineImpl::thread_for(Inbound inbound) {
  std::string id = inbound.thread_id;
  const Result<AgentSpec> spec = spec_of(inbound.scope.agent);
  if (!spec) co_return fail(spec.error());
  if (id.empty() && !inbound.client_results.empty()) {
    for (const llm::Message& message : inbound.client_results) {
      const auto found = with_client_.find(client_call_key(inbound.scope, message.tool_call_id));
      if (found != with_client_.end()) id = found->second;
    }
    if (id.empty()) co_return nobody_waits();
  } else if (id.empty() && !inbound.external_thread.empty()) {
    if (!is_foreign_id(inbound.external_thread))
      co_return fail(Code::kInvalidArgument, "the external thread's name is too long or not plain text");
    co_return co_await open_named(inbound.scope, inbound.channel, inbound.external_thread);
  } else if (id.empty()) {
    const Result<std::string> active = co_await active_thread(inbound.scope, inbound.channel);
    if (!active) co_return fail(active.error());
    id = *active;
  }
  Result<ThreadPtr> thread = co_await open_thread(inbound.scope, id);
  if (thread && inbound.reach == Inbound::Reach::kThreadsOfAgent &&
      (*thread)->row.scope.agent != inbound.scope.agent)
    co_return fail(Code::kNotFound, "the agent '{}' has no thread '{}'", inbound.scope.agent, id);
  co_return thread;
}

// Hooks may change what is said to the agent, or refuse it.
Task<Result<Inbound>> EngineImpl::through_hooks(ThreadPtr thread, Inbound inbound) {
  if (inbound.content.empty() || !d_.hooks.any(hooks::Point::kBeforeInbound)) co_return inbound;
  const hooks::Outcome outcome = co_await d_.hooks.run(hooks::Point::kBeforeInbound,
                                                       {.user_id = inbound.scope.user,
                                                        .channel = inbound.channel,
                                                        .thread_id = thread->row.id,
                                                        .content = inbound.content},
                                                       {});
  if (outcome.rejected) co_return fail(Code::kPermissionDenied, "message rejected: {}", *outcome.rejected);
  inbound.content = outcome.content;
  co_return inbound;
}

// Under the thread's mutex.
Task<Result<Accepted>> EngineImpl::take_in(ThreadPtr thread, Inbound raw) {
  Result<Inbound> passed = co_await through_hooks(thread, std::move(raw));
  if (!passed) co_return fail(passed.error());
  Inbound inbound = std::move(*passed);
  if (thread->broken)
    co_return fail(Code::kUnavailable,
                   "the thread could not be written a moment ago; send the message again");
  const turn::State& state = thread->state;
  if (inbound.continues && (turn::transcript_of(*inbound.continues) != state.transcript ||
                            !state.queue.empty() || !state.steering.empty())) {
    co_return fail(Error{.code = Code::kConflict, .message = "the conversation has gone on meanwhile"}.with(
        "reason", std::string(kMovedOn)));
  }
  if (!inbound.client_results.empty()) co_return co_await take_results(thread, std::move(inbound));
  const std::string message_id = d_.ids.next();
  Result<std::vector<Attached>> attached = describe(std::move(inbound.attachments), message_id);
  if (!attached) co_return fail(attached.error());
  co_return co_await place(thread, std::move(inbound), message_id, std::move(*attached));
}

// An answer, a new turn or part of one. Under the thread's mutex.
Task<Result<Accepted>> EngineImpl::place(ThreadPtr thread, Inbound inbound, std::string message_id,
                                         std::vector<Attached> attached) {
  const turn::State& state = thread->state;
  if (const turn::Call* pending = turn::pending_approval(state)) {
    if (const auto decision = commands::spoken_decision(inbound.content)) {
      if (!attached.empty())
        co_return fail(Code::kInvalidArgument,
                       "an answer to a question takes no files; answer first, then send them");
      co_return co_await answer(thread, pending->request_id, *decision,
                                {message_id, inbound.content, inbound.idempotency_key, inbound.permissions});
    }
  }
  // A message that came while others wait to start their turns takes its place behind them.
  const bool idle = state.phase == turn::Phase::kIdle;
  if (idle && state.queue.empty()) {
    const std::string turn_id = d_.ids.next();
    co_return co_await start_turn(thread, std::move(inbound), message_id, turn_id,
                                  {.attached = std::move(attached)});
  }
  // A turn that is past its last model call cannot take a message any more: it becomes a turn of its own, as with busy = queue.
  const bool ending = idle || state.phase == turn::Phase::kFinishing || state.phase == turn::Phase::kFailing;
  const bool queued = ending || d_.settings.busy == WhenBusy::kQueue;
  if (queued) {
    // Later the sender could only be told by a failed turn.
    if (const Result<> possible = check_terms(thread->row.scope, inbound); !possible)
      co_return fail(possible.error());
  }
  const size_t waiting = queued ? state.queue.size() : state.steering.size();
  const size_t limit = queued ? kMaxQueuedTurns : kMaxSteeringQueue;
  if (waiting >= limit) co_return too_many_wait(waiting);
  if (std::any_of(attached.begin(), attached.end(),
                  [](const Attached& each) { return each.saved == Attached::Saved::kNo; })) {
    Result<std::vector<Attached>> kept = co_await saved(thread->row.scope, std::move(attached));
    if (!kept) co_return fail(kept.error());
    // The turn may have ended meanwhile.
    co_return co_await place(thread, std::move(inbound), std::move(message_id), std::move(*kept));
  }
  const std::string turn_id = queued ? d_.ids.next() : state.start.turn;
  if (queued) watch(thread, turn_id);
  turn::Steered steered{message_id, inbound.content, queued ? turn_id : ""};
  steered.permissions = inbound.permissions;
  steered.client_key = inbound.client_key;
  if (queued) steered.terms = terms_of(inbound);
  if (!queued && !attached.empty())
    steered.content =
        inbound.content +
        attachments_text(attached, state.start.sees_images ? Sight::kSeesImages : Sight::kBlind);
  for (Attached& each : attached) steered.attachments.push_back(std::move(each.file));
  const Result<> durable = co_await append(thread, std::move(steered), Durability::kBarrier,
                                           {.idempotency = idempotency(inbound.idempotency_key, message_id)});
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

Task<Result<Accepted>> EngineImpl::start_turn(ThreadPtr thread, Inbound inbound, std::string message_id,
                                              std::string turn_id, Prelude prelude) {
  const Scope scope = thread->row.scope;
  begin_session(thread);
  const Result<AgentSpec> agent = co_await spec_for(scope);
  if (!agent) co_return fail(agent.error());
  const Result<ModelChoice> model = d_.choose_model(*agent);
  if (!model) co_return fail(model.error());

  const UnixMs now = d_.loop.clock().now();
  turn::TurnStarted started{.turn = turn_id,
                            .number = prelude.number.value_or(thread->state.turns),
                            .message_id = message_id,
                            .input = inbound.content,
                            .content = {},
                            .agent = agent->name,
                            .model = model->model,
                            .system_hash = {},
                            .tools_hash = {}};
  started.channel = inbound.channel;
  started.permissions = inbound.permissions;
  started.client_key = inbound.client_key;
  started.history = inbound.history;
  started.max_iterations = d_.settings.max_iterations;
  started.context_tokens = model->context_tokens;
  started.sampling = inbound.sampling;
  if (!started.sampling.temperature) started.sampling.temperature = agent->temperature;
  if (!started.sampling.max_tokens) started.sampling.max_tokens = agent->max_tokens;
  started.tool_choice = inbound.tool_choice;
  started.tool_choice_name = inbound.tool_choice_name;
  started.at = now;
  started.sees_images = model->sees_images;
  started.tool_calling = model->tools;
  // What is remembered is for those who may read it: the model would tell.
  std::vector<std::string> remembered;
  if (op::allows(inbound.permissions, kReadMemory))
    remembered = co_await d_.knowledge.recall(scope, inbound.content, kMaxRecalledLines);
  started.content =
      user_content(now, remembered, inbound.content + attachments_text(prelude.attached, sight_of(*model)));
  PromptSources::Sections identity = co_await d_.knowledge.identity(scope);
  // In one step with the list of tools: whose a name is may change while this waits.
  started.client_tools = prompts_.run_by_client(scope, inbound.client_tools);
  Result<turn::Sources> sources = co_await prompts_.of(
      scope, *agent, std::move(identity), inbound.client_system, inbound.client_tools, model->tools);
  if (!sources) co_return fail(sources.error());
  if (Result<> ok = check_choice(inbound, sources->tools->specs); !ok) co_return fail(ok.error());
  if (!inbound.client_system.empty()) {
    started.client_system_hash = crypto::content_hash(inbound.client_system);
    const Result<> stored = co_await prompts_.put(scope, started.client_system_hash, inbound.client_system);
    if (!stored) co_return fail(stored.error());
  }
  started.system_hash = sources->system_hash;
  started.tools_hash = sources->tools->hash;
  // A minimal model reads the conversation only: the rest takes none of its context.
  started.prompt_tokens =
      model->prompt == llm::PromptStyle::kMinimal ? 0 : turn::prompt_tokens(*sources, model->tools);
  Result<std::vector<Attached>> kept = co_await saved(scope, std::move(prelude.attached));
  if (!kept) co_return fail(kept.error());
  for (Attached& each : *kept) started.attachments.push_back(std::move(each.file));
  if (thread->broken)
    co_return fail(Code::kUnavailable,
                   "the thread could not be written a moment ago; send the message again");

  AppendExtras extras{.open_turn = turn_id, .add_turns = prelude.add_turns + 1};
  if (thread->row.title.empty()) extras.title = title_of(inbound.content);
  extras.idempotency = idempotency(inbound.idempotency_key, message_id);
  watch(thread, turn_id);
  prelude.records.emplace_back(std::move(started));
  const bool begins = thread->draft && thread->row.external_thread.empty();
  const Durable logged =
      append_all(thread, std::move(prelude.records), Durability::kBarrier, std::move(extras));
  // In the same commit: both are queued before either is awaited.
  std::optional<Task<Result<>>> activated;
  if (begins) activated = make_active(scope, thread->row.channel, thread->row.id);
  const Result<> durable = co_await logged;
  if (activated) {
    if (const Result<> active = co_await std::move(*activated); !active)
      log::warn("agent", "a new thread could not be made the active one", {{"error", active.error().text()}});
  }
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

}  // namespace chela::agent
