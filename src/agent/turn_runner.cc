#include <algorithm>

#include "agent/answer_reader.h"
#include "agent/engine_impl.h"
#include "agent/turn/call_ids.h"
#include "agent/turn/notes.h"
#include "agent/turn/records.h"
#include "hooks/hooks.h"

// Performs the effects of running turns. Every await may let the turn end (interrupt, failure): current() is asked after each.
namespace chela::agent {

using store::Durability;

// Whether `turn` still runs on this thread; false after an interrupt, and when its records could not be written.
bool EngineImpl::current(const Thread& thread, const std::string& turn) {
  return !thread.broken && thread.state.phase != turn::Phase::kIdle && thread.state.start.turn == turn;
}

// Starts a task for the thread's turn unless one works on it or it only waits for somebody.
void EngineImpl::wake_turn(ThreadPtr thread) {
  if (thread->working || stopping_ || thread->state.phase == turn::Phase::kIdle) return;
  thread->working = true;
  thread->stop = std::stop_source();
  std::string turn = thread->state.start.turn;
  tasks_.spawn(run_turn(std::move(thread), std::move(turn)));
}

Task<> EngineImpl::run_turn(ThreadPtr thread, std::string turn) {
  co_await slots_.acquire();
  co_await perform(thread, turn);
  slots_.release();
  if (thread->broken) give_up(thread, turn);
  // An interrupted turn's task may end after the next turn has begun with a task of its own.
  if (thread->state.start.turn == turn || thread->broken) {
    thread->working = false;
    publish_state(thread, turn);
  }
  if (!thread->broken && thread->state.phase == turn::Phase::kIdle) co_await start_queued(thread);
}

Task<> EngineImpl::perform(ThreadPtr thread, std::string turn) {
  if (thread->model.provider == nullptr) {
    // Taken up again after a restart.
    Result<AgentSpec> agent = spec_of(thread->row.scope.agent);
    if (agent) agent->model = thread->state.start.model;  // the turn's own, whatever is configured by now
    Result<ModelChoice> model = agent ? d_.choose_model(*agent) : Result<ModelChoice>(fail(agent.error()));
    Result<turn::Sources> sources = co_await prompts_.stored(
        thread->row.scope, thread->state.start.system_hash, thread->state.start.tools_hash);
    if (!current(*thread, turn)) co_return;
    if (!model) co_return co_await fail_turn(thread, turn, model.error());
    if (!sources) co_return co_await fail_turn(thread, turn, sources.error());
    thread->agent = *agent;
    thread->model = *model;
    thread->sources = std::move(*sources);
    co_await settle_unfinished(thread, turn);
  }
  while (current(*thread, turn) && !stopping_) {
    const std::vector<turn::Effect> effects = turn::effects(thread->state);
    if (effects.empty()) co_return;
    turn::Effect effect = effects.front();
    if (std::holds_alternative<turn::CallModel>(effect)) {
      co_await call_model(thread, turn);
    } else if (auto* prepare = std::get_if<turn::PrepareCalls>(&effect)) {
      co_await prepare_calls(thread, turn, std::move(prepare->calls));
    } else if (auto* run = std::get_if<turn::RunCalls>(&effect)) {
      co_await run_calls(thread, turn, std::move(run->calls));
    } else if (auto* question = std::get_if<turn::Ask>(&effect)) {
      co_await ask(thread, turn, std::move(question->call));
    } else if (auto* compact = std::get_if<turn::Compact>(&effect)) {
      append(thread, turn::Compacted{compact->plan}, Durability::kLazy);
    } else if (std::holds_alternative<turn::Finish>(effect)) {
      co_await finish(thread, turn);
    } else if (auto* failed = std::get_if<turn::Fail>(&effect)) {
      co_await fail_turn(thread, turn, failed->error);
    } else {
      co_return;  // waits for a person or a client
    }
  }
}

// A started call without a result: it ran when the engine stopped. Only a repeatable one may run again.
Task<> EngineImpl::settle_unfinished(ThreadPtr thread, std::string turn) {
  for (tools::PreparedCall& call : turn::unfinished(thread->state)) {
    if (call.idempotence == tools::Idempotence::kRepeatable) {
      co_await run_call(thread, turn, std::move(call));
    } else {
      append(thread,
             turn::ToolFinished{
                 d_.tool_runner.without_running(call.id, call.name, std::string(turn::kInterruptedResult)),
                 turn::Ending::kInterrupted},
             Durability::kLazy);
    }
    if (!current(*thread, turn)) co_return;
  }
}

Task<> EngineImpl::call_model(ThreadPtr thread, std::string turn) {
  const Scope scope = thread->row.scope;
  llm::Request request = turn::build_request(thread->state, thread->sources);
  const turn::PrefixNote prefix = thread->prefix.next(request, thread->sources.tools->hash);
  prefix_calls_[static_cast<size_t>(prefix.is)]->add();
  append(thread,
         turn::ModelRequested{thread->state.iteration,
                              turn::request_hash(request, thread->sources.tools->hash), prefix},
         Durability::kLazy);
  const bool repeated = std::exchange(thread->repeated_call, false);
  hub_.begin_call(scope, thread->row.id, turn, repeated ? Hub::Attempt::kRepeated : Hub::Attempt::kFirst);
  const bool withheld =
      d_.hooks.any(hooks::Point::kTransformResponse) || d_.hooks.any(hooks::Point::kBeforeOutbound);
  const auto reader = std::make_shared<AnswerReader>(prompts_.tool_set(*thread->sources.tools));
  const llm::DeltaSink sink = [this, scope, thread, turn, withheld, reader](const llm::Delta& delta) {
    const llm::Delta shown = reader->feed(delta);
    if (withheld || !current(*thread, turn)) return;
    if (shown.reset) hub_.reset_call(scope, thread->row.id);
    hub_.delta(scope, thread->row.id, shown.text);
  };
  const auto choices = std::make_shared<json::Array>();
  request.caller = caller_of(thread, choices);
  Result<llm::Request> complete = co_await with_images(scope, std::move(request));
  Result<llm::Answer> answer = complete
                                   ? co_await thread->model.provider->complete(
                                         std::move(*complete), sink, std::nullopt, thread->stop.get_token())
                                   : Result<llm::Answer>(fail(complete.error()));
  if (!current(*thread, turn)) {
    late_results_.add();
    co_return;
  }
  if (answer) {
    AnswerReader::Result read = reader->finish(std::move(*answer));
    if (!withheld) hub_.delta(scope, thread->row.id, read.rest.text);
    std::set<std::string> used = thread->state.call_ids;
    turn::name_new_calls(turn, used, read.answer.tool_calls);
    // What the client is given to run must be known after a crash, when its results come.
    const std::set<std::string>& theirs = thread->state.start.client_tools;
    const bool for_client =
        std::any_of(read.answer.tool_calls.begin(), read.answer.tool_calls.end(),
                    [&theirs](const llm::ToolCall& call) { return theirs.contains(call.name); });
    const Durable logged = append(thread, turn::ModelAnswered{std::move(read.answer), read.refused, *choices},
                                  for_client ? Durability::kBarrier : Durability::kLazy);
    if (for_client) (void)co_await logged;  // an append that failed ends the turn by current()
    co_return;
  }
  hub_.end_call(scope, thread->row.id);
  if (stopping_) co_return;  // the turn stays open and is taken up at the next start
  const bool too_long = answer.error().detail("reason") == "context_length";
  if (too_long && !thread->state.context_retry) {
    const std::int64_t prompt = thread->state.start.prompt_tokens;
    const auto plan = turn::plan_compaction(thread->state.conversation, thread->state.start.number,
                                            (prompt + thread->state.conversation.tokens()) / 2, prompt);
    if (plan) {
      append(thread, turn::Compacted{*plan, true}, Durability::kLazy);
      co_return;
    }
  }
  co_await fail_turn(thread, turn, answer.error());
}

Task<tools::PreparedCall> EngineImpl::prepare_call(ThreadPtr thread, llm::ToolCall call) {
  const std::vector<llm::ToolSpec>& offered = thread->sources.tools->specs;
  const tools::ToolPtr tool = d_.tools.find(thread->row.scope, call.name);
  const std::string& own_name = tool != nullptr ? tool->info().name : call.name;
  const bool is_offered = std::any_of(offered.begin(), offered.end(),
                                      [&](const llm::ToolSpec& spec) { return spec.name == own_name; });
  // A turn keeps the tools it began with: one that came since is not offered yet, one that has gone cannot be called.
  if ((tool != nullptr) != is_offered) {
    co_return tools::PreparedCall{
        .id = call.id,
        .name = call.name,
        .arguments = {},
        .decision = tools::PreparedCall::Decision::kRefused,
        .refusal = is_offered ? fmt::format("Error: {}", tools::gone_tool(call.name))
                              : fmt::format("the tool {} is not available to this agent", call.name)};
  }
  const std::set<std::string> always = co_await auto_approved(thread->row.scope);
  co_return co_await d_.tool_runner.prepare(
      {.scope = thread->row.scope,
       .thread = thread->row.id,
       .turn = thread->state.start.turn,
       .tools = thread->agent.tools,
       .permissions = thread->state.permissions},
      std::move(call), [&always](std::string_view name) { return always.contains(std::string(name)); },
      thread->stop.get_token());
}

Task<> EngineImpl::prepare_calls(ThreadPtr thread, std::string turn, std::vector<llm::ToolCall> calls) {
  turn::ToolRequested requested;
  for (llm::ToolCall& call : calls) {
    requested.calls.push_back(co_await prepare_call(thread, std::move(call)));
    if (!current(*thread, turn)) co_return;
  }
  append(thread, std::move(requested), Durability::kLazy);
}

Task<> EngineImpl::run_calls(ThreadPtr thread, std::string turn, std::vector<tools::PreparedCall> calls) {
  for (size_t begin = 0; begin < calls.size(); begin += kMaxParallelTools) {
    std::vector<Task<bool>> batch;
    for (size_t i = begin; i < std::min(calls.size(), begin + kMaxParallelTools); ++i) {
      batch.push_back(run_call(thread, turn, std::move(calls[i])));
    }
    co_await runtime::gather(d_.loop, std::move(batch));
    if (!current(*thread, turn) || stopping_) co_return;
  }
}

// Runs one call and logs it. False when the turn has ended meanwhile.
Task<bool> EngineImpl::run_call(ThreadPtr thread, std::string turn, tools::PreparedCall call) {
  if (call.decision == tools::PreparedCall::Decision::kRefused) {
    const auto ending = call.refusal == turn::kDeniedResult ? turn::Ending::kDenied : turn::Ending::kRefused;
    append(thread,
           turn::ToolFinished{d_.tool_runner.without_running(call.id, call.name, call.refusal), ending},
           Durability::kLazy);
    co_return true;
  }
  const bool once = call.idempotence == tools::Idempotence::kOnce;
  const Durable started =
      append(thread, turn::ToolStarted{call.id, call.name}, once ? Durability::kBarrier : Durability::kLazy);
  if (once) {
    const Result<> durable = co_await started;
    if (!durable || !current(*thread, turn)) co_return false;
  }
  Result<tools::FinishedCall> finished =
      co_await d_.tool_runner.execute({.scope = thread->row.scope,
                                       .thread = thread->row.id,
                                       .turn = turn,
                                       .permissions = thread->state.permissions},
                                      call, thread->stop.get_token());
  if (!current(*thread, turn)) {
    late_results_.add();
    co_return false;
  }
  if (!finished && stopping_) co_return false;
  if (finished && finished->credential) {
    co_await ask_credential(thread, turn, std::move(*finished));
    co_return current(*thread, turn);
  }
  tools::FinishedCall result =
      finished ? std::move(*finished)
               : d_.tool_runner.without_running(call.id, call.name, finished.error().message);
  append(thread, turn::ToolFinished{std::move(result), turn::Ending::kRan}, Durability::kLazy);
  co_return true;
}

Task<> EngineImpl::ask(ThreadPtr thread, std::string turn, tools::PreparedCall call) {
  const std::string request = d_.ids.next();
  asked_[request] = thread->row.id;
  const Result<> durable =
      co_await append(thread, turn::Asked{request, call.id, call.name, call.description, call.arguments},
                      Durability::kBarrier);
  if (!durable) asked_.erase(request);
  if (durable && current(*thread, turn)) publish_state(thread, turn);
}

Task<> EngineImpl::finish(ThreadPtr thread, std::string turn) {
  std::string reply = thread->state.reply;
  if (d_.hooks.any(hooks::Point::kTransformResponse)) {
    const hooks::Outcome outcome = co_await d_.hooks.run(hooks::Point::kTransformResponse,
                                                         {.user_id = thread->row.scope.user,
                                                          .channel = thread->row.channel,
                                                          .thread_id = thread->row.id,
                                                          .content = reply},
                                                         thread->stop.get_token());
    reply = outcome.rejected ? fmt::format("[Response filtered: {}]", *outcome.rejected) : outcome.content;
  }
  if (d_.hooks.any(hooks::Point::kBeforeOutbound)) {
    const hooks::Outcome outcome = co_await d_.hooks.run(hooks::Point::kBeforeOutbound,
                                                         {.user_id = thread->row.scope.user,
                                                          .channel = thread->row.channel,
                                                          .thread_id = thread->row.id,
                                                          .content = reply},
                                                         thread->stop.get_token());
    reply = outcome.rejected ? "" : outcome.content;
  }
  if (!current(*thread, turn)) co_return;
  const turn::State& state = thread->state;
  const UnixMs now = d_.loop.clock().now();
  turn_seconds_.observe(static_cast<double>(now - state.start.at) / 1000.0);
  TurnOutcome outcome{.state = TurnState::kCompleted,
                      .reply = reply,
                      .visible = {},
                      .usage = state.usage,
                      .model = state.answered_by,
                      .finish_reason = state.finish_reason};
  const Durable logged =
      append(thread, turn::TurnFinished{std::move(reply), state.usage, state.finish_reason, now},
             Durability::kBarrier, {.open_turn = next_open(*thread)});
  outcome.visible = state.visible;  // with the reply as the hooks left it
  const Result<> durable = co_await logged;
  if (!durable) co_return;
  turns_completed_.add();
  end_watch(turn, std::move(outcome));
}

Task<> EngineImpl::fail_turn(ThreadPtr thread, std::string turn, Error error) {
  TurnOutcome outcome{.state = TurnState::kFailed,
                      .reply = {},
                      .visible = thread->state.visible,
                      .error = error,
                      .usage = thread->state.usage,
                      .model = thread->state.answered_by};
  const Result<> durable = co_await append(thread, turn::TurnFailed{std::move(error)}, Durability::kBarrier,
                                           {.open_turn = next_open(*thread)});
  if (!durable) co_return;
  turns_failed_.add();
  end_watch(turn, std::move(outcome));
}

// The log refused a record: what this turn did from there on is not on disk. Whoever waits is told; the next start takes the turn up.
void EngineImpl::give_up(const ThreadPtr& thread, const std::string& turn) {
  hub_.forget_calls(thread->row.scope, thread->row.id);
  Error error = *thread->broken;
  error.message = "the turn could not be recorded: " + error.message;
  end_watch(turn, {.state = TurnState::kFailed, .reply = {}, .visible = {}, .error = std::move(error)});
}

// --- Waiting

Watch& EngineImpl::watch(const ThreadPtr& thread, const std::string& turn) {
  Watch& entry = watches_[turn];
  entry.scope = thread->row.scope;
  entry.thread = thread->row.id;
  return entry;
}

// Tells those who wait that the turn now waits itself, for an approval or for the client.
void EngineImpl::publish_state(const ThreadPtr& thread, const std::string& turn) {
  const auto found = watches_.find(turn);
  if (found == watches_.end() || !current(*thread, turn)) return;
  Watch& entry = found->second;
  const turn::State& state = thread->state;
  const std::vector<turn::Effect> effects = turn::effects(state);
  entry.outcome = {};
  entry.outcome.usage = state.usage;
  entry.outcome.model = state.answered_by;
  entry.outcome.visible = state.visible;
  if (const turn::Call* call = turn::pending_approval(state)) {
    entry.outcome.state = TurnState::kAwaitingApproval;
    entry.outcome.approval =
        PendingApproval{call->request_id,           thread->row.id,          turn, call->prepared.name,
                        call->prepared.description, call->prepared.arguments};
  } else if (turn::pending_credential(state) != nullptr) {
    entry.outcome.state = TurnState::kAwaitingAuth;
    entry.outcome.auth = pending_auth(*thread);
  } else if (turn::awaits_client(state)) {
    entry.outcome.state = TurnState::kAwaitingClient;
    entry.outcome.finish_reason = llm::FinishReason::kToolCalls;
    for (const llm::ToolCall& wanted : std::get<turn::AwaitClient>(effects.front()).calls) {
      entry.outcome.client_calls.push_back(wanted);
      with_client_[client_call_key(thread->row.scope, wanted.id)] = thread->row.id;
    }
  } else {
    return;
  }
  for (const runtime::Completion<bool>& waiter : std::exchange(entry.waiters, {})) waiter.resolve(true);
}

void EngineImpl::end_watch(const std::string& turn, TurnOutcome outcome) {
  const auto found = watches_.find(turn);
  if (found == watches_.end()) return;
  found->second.outcome = std::move(outcome);
  for (const runtime::Completion<bool>& waiter : std::exchange(found->second.waiters, {}))
    waiter.resolve(true);
  ended_.push_back(turn);
  while (ended_.size() > d_.settings.max_known_outcomes) {
    watches_.erase(ended_.front());
    ended_.pop_front();
  }
}

Task<Result<TurnOutcome>> EngineImpl::wait_until(Scope scope, std::string turn_id, std::stop_token stop,
                                                 bool through_approvals) {
  while (true) {
    const auto found = watches_.find(turn_id);
    if (found == watches_.end() || found->second.scope.realm != scope.realm ||
        found->second.scope.user != scope.user) {
      co_return fail(
          Code::kNotFound,
          "there is no turn '{}' that runs or ended lately; with its thread_id older ones are found",
          turn_id);
    }
    const TurnState state = found->second.outcome.state;
    if (state != TurnState::kProcessing &&
        !(through_approvals && (state == TurnState::kAwaitingApproval || state == TurnState::kAwaitingAuth)))
      co_return found->second.outcome;
    if (stopping_) co_return fail(Code::kUnavailable, "the engine stops; the turn goes on at its next start");
    const runtime::Completion<bool> changed(d_.loop);
    // Those who left without an answer are not kept until the turn ends.
    std::erase_if(found->second.waiters,
                  [](const runtime::Completion<bool>& waiter) { return waiter.resolved(); });
    found->second.waiters.push_back(changed);
    const std::stop_callback on_stop(stop, [changed] { changed.resolve(false); });
    const bool go_on = co_await changed;
    if (!go_on && !stopping_) co_return fail(Code::kCancelled, "cancelled");
  }
}

Task<Result<TurnOutcome>> EngineImpl::wait(Scope scope, std::string turn_id, std::stop_token stop) {
  return wait_until(std::move(scope), std::move(turn_id), std::move(stop), false);
}

Task<Result<TurnOutcome>> EngineImpl::wait_through_approvals(Scope scope, std::string turn_id,
                                                             std::stop_token stop) {
  return wait_until(std::move(scope), std::move(turn_id), std::move(stop), true);
}

}  // namespace chela::agent
