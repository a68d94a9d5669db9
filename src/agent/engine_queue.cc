#include "agent/engine_impl.h"
#include "base/strings.h"
#include "base/utf8.h"

// Messages that wait for turns of their own.
namespace chela::agent {
namespace {

constexpr size_t kMadeTitleBytes = 80;

}  // namespace

// Starts the turn of the message that waits longest, once the thread is idle. One that cannot start ends as a failed turn: else it would
// stand in the way of all behind it, also after a restart.
Task<> EngineImpl::start_queued(ThreadPtr thread) {
  if (thread->state.queue.empty()) co_return;
  const runtime::Mutex::Guard guard = co_await thread->mutex.lock();
  while (!thread->broken && !stopping_ && thread->state.phase == turn::Phase::kIdle &&
         !thread->state.queue.empty()) {
    const turn::Steered next = thread->state.queue.front();
    const Result<Accepted> started = co_await start_waiting(thread, next);
    if (started || stopping_) co_return;
    if (!thread->broken) {
      co_await refuse_waiting(thread, next, started.error());
    } else {
      end_watch(next.next_turn,
                {.state = TurnState::kFailed, .reply = {}, .visible = {}, .error = started.error()});
    }
  }
}

Task<Result<Accepted>> EngineImpl::start_waiting(ThreadPtr thread, turn::Steered next) {
  Result<std::vector<Attached>> attached =
      co_await recorded_attachments(thread->row.scope, std::move(next.attachments));
  if (!attached) co_return fail(attached.error());
  Inbound inbound{.scope = thread->row.scope,
                  .channel = thread->row.channel,
                  .thread_id = thread->row.id,
                  .content = std::move(next.input),
                  .permissions = std::move(next.permissions),
                  .client_key = std::move(next.client_key),
                  .client_tools = std::move(next.terms.tools),
                  .client_system = std::move(next.terms.system),
                  .sampling = std::move(next.terms.sampling),
                  .tool_choice = next.terms.tool_choice,
                  .tool_choice_name = std::move(next.terms.tool_choice_name)};
  co_return co_await start_turn(thread, std::move(inbound), next.message_id, next.next_turn,
                                {.attached = std::move(*attached)});
}

// The message's turn begins and fails in one step. It has no sources: no model is asked.
Task<> EngineImpl::refuse_waiting(ThreadPtr thread, turn::Steered next, Error error) {
  const turn::State& state = thread->state;
  turn::TurnStarted started{.turn = next.next_turn,
                            .number = state.turns,
                            .message_id = next.message_id,
                            .input = next.input,
                            .content = next.input,
                            .agent = thread->row.scope.agent,
                            .model = {},
                            .system_hash = {},
                            .tools_hash = {},
                            .permissions = next.permissions};
  started.channel = thread->row.channel;
  started.max_iterations = d_.settings.max_iterations;
  started.sampling = next.terms.sampling;
  started.tool_choice = next.terms.tool_choice;
  started.tool_choice_name = next.terms.tool_choice_name;
  started.at = d_.loop.clock().now();
  started.attachments = next.attachments;
  AppendExtras extras{.open_turn = state.queue.size() > 1 ? state.queue[1].next_turn : "", .add_turns = 1};
  if (thread->row.title.empty()) extras.title = title_of(next.input);
  std::vector<turn::Input> records;
  records.emplace_back(std::move(started));
  records.emplace_back(turn::TurnFailed{error});
  watch(thread, next.next_turn);
  const Result<> durable =
      co_await append_all(thread, std::move(records), store::Durability::kBarrier, std::move(extras));
  if (durable) {
    turns_started_.add();
    turns_failed_.add();
  }
  end_watch(next.next_turn, {.state = TurnState::kFailed,
                             .reply = {},
                             .visible = {},
                             .error = durable ? std::move(error) : durable.error()});
}

std::string EngineImpl::title_of(std::string_view input) {
  const std::string_view text = strings::trim(input);
  return std::string(strings::trim(utf8::prefix(text.substr(0, text.find('\n')), kMadeTitleBytes)));
}

}  // namespace chela::agent
