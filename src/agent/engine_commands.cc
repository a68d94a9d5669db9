#include <algorithm>

#include "agent/engine_impl.h"
#include "agent/event_mapping.h"
#include "base/strings.h"
#include "base/utf8.h"

// What slash words do. Their answers are no part of the conversation: the sender gets them at once, those who watch the thread as an event.
namespace chela::agent {
namespace {

using commands::Verb;

// "1,234,567"
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string state_text(const turn::State& state) {
  if (const turn::Call* call = turn::pending_approval(state))
    return fmt::format("waits for your approval of {}", call->prepared.name);
  if (const turn::CredentialAsked* asked = turn::pending_credential(state))
    return fmt::format("waits for the credential {}", asked->name);
  if (turn::awaits_client(state)) return "waits for results of the client's tools";
  if (state.phase == turn::Phase::kIdle) return state.queue.empty() ? "idle" : "about to start a turn";
  return "works on a turn";
}

std::string tokens_text(std::int64_t tokens, std::int64_t context) {
  if (context <= 0) return fmt::format("about {} tokens", grouped(tokens));
  return fmt::format("about {} of {} tokens ({}%)", grouped(tokens), grouped(context),
                     tokens * 100 / context);
}

// A tool's description may be a page; its first sentence says what it is.
std::string_view first_sentence(std::string_view text) {
  const size_t end = std::min(text.find(". "), text.find('\n'));
  return end == std::string_view::npos ? text : text.substr(0, text[end] == '.' ? end + 1 : end);
}

// Whether a command changes nothing.
bool only_looks(const commands::Command& command) {
  switch (command.verb) {
    case Verb::kHelp:
    case Verb::kVersion:
    case Verb::kPing:
    case Verb::kQuit:
    case Verb::kTools:
    case Verb::kStatus:
      return true;
    case Verb::kModel:
      return command.argument.empty();
    default:
      return false;
  }
}

}  // namespace

// Under no lock. `parsed` is not UserText.
Task<Result<Accepted>> EngineImpl::run_command(Inbound inbound, commands::Parsed parsed) {
  const Scope scope = inbound.scope;
  const std::string key = inbound.idempotency_key;
  Result<Accepted> done = co_await carry_out(std::move(inbound), std::move(parsed));
  if (!done || key.empty()) co_return done;
  const Result<> kept = co_await keep_key(scope, done->thread_id, key, done->message_id);
  if (!kept) co_return fail(kept.error());
  co_return done;
}

// A command with a key that was used before. What it did is not done again; what it shows can be.
Task<Result<Accepted>> EngineImpl::repeat_command(Scope scope, Accepted first, commands::Parsed parsed) {
  first.reply = "Done already.";
  if (const auto* mistake = std::get_if<commands::Mistake>(&parsed)) first.reply = mistake->reply;
  const auto* command = std::get_if<commands::Command>(&parsed);
  if (command == nullptr || !only_looks(*command)) co_return first;
  const Result<ThreadPtr> thread = co_await open_thread(scope, first.thread_id);
  if (!thread) co_return fail(thread.error());
  Result<std::string> reply = co_await perform_command(*thread, *command, {});
  if (!reply) co_return fail(reply.error());
  first.reply = std::move(*reply);
  co_return first;
}

Task<Result<Accepted>> EngineImpl::carry_out(Inbound inbound, commands::Parsed parsed) {
  if (const auto* approval = std::get_if<commands::ExecApproval>(&parsed)) {
    co_return co_await decide_by(inbound.scope, approval->request_id, approval->decision,
                                 {d_.ids.next(), "", inbound.idempotency_key, inbound.permissions});
  }
  const auto* command = std::get_if<commands::Command>(&parsed);
  if (command != nullptr && command->verb == Verb::kNew) co_return co_await begin_thread(std::move(inbound));
  const Result<ThreadPtr> thread = co_await thread_for(inbound);
  if (!thread) co_return fail(thread.error());
  if (const auto* mistake = std::get_if<commands::Mistake>(&parsed)) {
    if (mistake->kind == commands::Mistake::Kind::kUnknown) {
      // While a credential is asked for it may be its value, which nobody is told.
      const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
      if (turn::pending_credential((*thread)->state) != nullptr)
        co_return co_await take_credential(*thread, std::move(inbound));
    }
    co_return command_answer(*thread, mistake->reply);
  }
  switch (command->verb) {
    case Verb::kApprove:
      co_return co_await decide_spoken(*thread, std::move(inbound), Decision::kApprove);
    case Verb::kAlways:
      co_return co_await decide_spoken(*thread, std::move(inbound), Decision::kAlways);
    case Verb::kDeny:
      co_return co_await decide_spoken(*thread, std::move(inbound), Decision::kDeny);
    case Verb::kThread:
      co_return co_await switch_thread(*thread, std::move(inbound), command->argument);
    case Verb::kUndo:
    case Verb::kRedo:
    case Verb::kClear:
    case Verb::kCompact: {
      const runtime::Mutex::Guard guard = co_await (*thread)->mutex.lock();
      const std::string id = d_.ids.next();
      const Result<std::string> done =
          co_await change_thread(*thread, *command, {.id = id, .key = inbound.idempotency_key});
      if (!done) co_return fail(done.error());
      co_return command_answer(*thread, *done, id);
    }
    default:
      break;
  }
  const std::string id = d_.ids.next();
  const Result<std::string> reply =
      co_await perform_command(*thread, *command, {.id = id, .key = inbound.idempotency_key});
  if (!reply) co_return fail(reply.error());
  co_return command_answer(*thread, *reply, id);
}

Accepted EngineImpl::command_answer(const ThreadPtr& thread, std::string reply, std::string message_id) {
  json::Value data = event_data("response", thread->row.id, "");
  data.set("content", reply);
  data.set("command", true);
  hub_.announce(thread->row.scope, thread->row.id, {"response", std::move(data)});
  if (message_id.empty()) message_id = d_.ids.next();
  return {.message_id = std::move(message_id),
          .thread_id = thread->row.id,
          .turn_id = {},
          .reply = std::move(reply)};
}

// Commands that only look, that end a turn, or that take long. Under no lock.
Task<Result<std::string>> EngineImpl::perform_command(ThreadPtr thread, commands::Command command,
                                                      KeyedMessage message) {
  switch (command.verb) {
    case Verb::kHelp:
      co_return commands::help_text();
    case Verb::kVersion:
      co_return fmt::format("Chela {}", d_.version);
    case Verb::kPing:
      co_return "pong!";
    case Verb::kQuit:
      co_return "Only the terminal can stop the engine.";
    case Verb::kTools:
      co_return tools_text(*thread);
    case Verb::kStatus:
      co_return co_await status_text(thread);
    case Verb::kModel:
      co_return co_await model_command(thread, std::move(command.argument));
    case Verb::kSummarize:
      co_return co_await summarize(thread, std::move(message));
    case Verb::kInterrupt: {
      const Result<> ended = co_await interrupt_turn(thread, "", std::move(message));
      if (ended) co_return "Interrupted.";
      if (ended.error().code == Code::kConflict) co_return "Nothing to interrupt.";
      co_return fail(ended.error());
    }
    default:
      co_return fail(Code::kInternal, "a command of the table is not performed");
  }
}

// The key is kept in the step that makes the thread.
Task<Result<Accepted>> EngineImpl::begin_thread(Inbound inbound) {
  if (const Result<AgentSpec> spec = spec_of(inbound.scope.agent); !spec) co_return fail(spec.error());
  const ThreadPtr thread = new_draft(inbound.scope, inbound.channel, "");
  std::string id = d_.ids.next();
  const Durable made = append_all(thread, {}, store::Durability::kBarrier,
                                  {.idempotency = idempotency(inbound.idempotency_key, id)});
  // In the same commit: both are queued before either is awaited.
  Task<Result<>> activated = make_active(inbound.scope, inbound.channel, thread->row.id);
  const Result<> durable = co_await made;
  const Result<> active = co_await std::move(activated);
  if (!durable) co_return fail(durable.error());
  if (!active) co_return fail(active.error());
  co_return command_answer(thread, fmt::format("New thread {}.", thread->row.id), std::move(id));
}

Task<Result<Accepted>> EngineImpl::switch_thread(ThreadPtr present, Inbound inbound, std::string id) {
  if (id.empty()) {
    const std::string title = present->row.title.empty() ? "" : fmt::format(" ({})", present->row.title);
    co_return command_answer(present, fmt::format("This is thread {}{}.", present->row.id, title));
  }
  const Result<ThreadPtr> next = co_await open_thread(inbound.scope, id);
  if (!next && next.error().code != Code::kNotFound) co_return fail(next.error());
  if (!next) {
    // What a person typed is shown as they typed it, within bounds.
    co_return command_answer(
        present, fmt::format("Error: there is no thread '{}'.", utf8::prefix(id, kMaxForeignIdBytes)));
  }
  const Result<> active = co_await make_active(inbound.scope, inbound.channel, (*next)->row.id);
  if (!active) co_return fail(active.error());
  const std::string title = (*next)->row.title.empty() ? "" : fmt::format(" ({})", (*next)->row.title);
  co_return command_answer(*next, fmt::format("Now on thread {}{}.", (*next)->row.id, title));
}

Task<Result<Accepted>> EngineImpl::decide_spoken(ThreadPtr thread, Inbound inbound, Decision decision) {
  const runtime::Mutex::Guard guard = co_await thread->mutex.lock();
  const turn::Call* pending = turn::pending_approval(thread->state);
  if (pending == nullptr) co_return command_answer(thread, "Error: nothing waits for an approval.");
  co_return co_await answer(thread, pending->request_id, decision,
                            {d_.ids.next(), inbound.content, inbound.idempotency_key, inbound.permissions});
}

std::string EngineImpl::tools_text(const Thread& thread) const {
  const Result<AgentSpec> agent = spec_of(thread.row.scope.agent);
  if (!agent) return fmt::format("Error: {}", agent.error().message);
  std::string text;
  for (const llm::ToolSpec& tool : d_.tools.specs(thread.row.scope, agent->tools))
    text += fmt::format("{}{} - {}", text.empty() ? "" : "\n", tool.name, first_sentence(tool.description));
  return text.empty() ? "The agent has no tools." : text;
}

Task<Result<std::string>> EngineImpl::status_text(ThreadPtr thread) {
  const Result<ModelChoice> model = co_await model_for(thread->row.scope);
  const turn::State& state = thread->state;
  std::string text = fmt::format("Thread {}\nAgent: {}\n", thread->row.id, thread->row.scope.agent);
  text += fmt::format("Model: {}\n", model ? model->model : model.error().message);
  text += fmt::format("State: {}\nTurns: {} ({} to undo, {} to redo)\n",
                      thread->summary ? "writes a summary" : state_text(state), state.turns,
                      state.undo.size(), state.redo.size());
  co_return text +
      "Conversation: " + tokens_text(state.conversation.tokens(), model ? model->context_tokens : 0);
}

}  // namespace chela::agent
