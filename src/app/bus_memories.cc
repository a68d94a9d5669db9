#include "app/bus_memories.h"

#include <algorithm>
#include <utility>

#include "app/limits.h"
#include "obs/log.h"

namespace chela::app {
namespace {

constexpr std::string_view kFunction = "memory::store";

// All that a person said in a turn, messages that joined it included.
std::string said_in(const agent::HistoryTurn& turn) {
  std::string said = turn.user_input;
  for (const std::string& more : turn.steered) said.append(said.empty() ? "" : "\n\n").append(more);
  return said;
}

json::Value tokens_of(const llm::Usage& usage) {
  return json::Value::object({{"input", usage.input_tokens}, {"output", usage.output_tokens}});
}

}  // namespace

op::CallContext BusMemories::context(const Scope& scope) const {
  return {.principal = {.realm = scope.realm, .user = scope.user, .permissions = {"memory:write"}},
          .scope = scope,
          .deadline = bus_.clock().steady() + kBusStoreTime,
          .stop = tasks_.stop_token()};
}

void BusMemories::turn_ended(const Scope& scope, const std::string& thread, const std::string& turn) {
  if (!bus_.replaced(kFunction, context(scope))) return;
  if (waiting_.size() >= kMaxTurnsToStore) {
    ++refused_;
    log::warn("memory", "a worker's memory::store is too slow; a turn is not handed to it", {{"turn", turn}});
    return;
  }
  waiting_.push_back({scope, thread, turn});
  if (!std::exchange(working_, true)) tasks_.spawn(work());
}

Task<> BusMemories::close() {
  waiting_.clear();
  tasks_.stop();
  co_await tasks_.join();
}

Task<> BusMemories::work() {
  while (!waiting_.empty()) {
    Ended ended = std::move(waiting_.front());
    waiting_.pop_front();
    const std::string turn = ended.turn;
    if (const Result<> done = co_await hand_over(std::move(ended)); !done)
      log::warn("memory", "a turn was not stored by a worker's memory::store",
                {{"turn", turn}, {"error", done.error().message}});
  }
  working_ = false;
  refused_ = 0;
}

Task<Result<>> BusMemories::hand_over(Ended ended) {
  // Later turns of the thread are those that wait or were refused, and one that runs.
  const Result<agent::History> history =
      co_await engine_.history(ended.scope, ended.thread, waiting_.size() + refused_ + 2, std::nullopt);
  if (!history) co_return fail(history.error());
  const auto found = std::find_if(history->turns.rbegin(), history->turns.rend(),
                                  [&](const agent::HistoryTurn& turn) { return turn.id == ended.turn; });
  // Undone meanwhile, or ended without an answer: there is nothing to remember.
  if (found == history->turns.rend() || found->state != agent::TurnState::kCompleted) co_return Result<>{};
  const agent::HistoryTurn turn = *found;
  if (std::string said = said_in(turn); !said.empty()) {
    if (Result<> stored = co_await store(ended, "user", std::move(said), {}); !stored) co_return stored;
  }
  if (turn.response.empty()) co_return Result<>{};
  co_return co_await store(std::move(ended), "assistant", turn.response, tokens_of(turn.usage));
}

Task<Result<>> BusMemories::store(Ended ended, std::string role, std::string content, json::Value tokens) {
  op::CallContext caller = context(ended.scope);
  if (!bus_.replaced(kFunction, caller)) co_return fail(Code::kUnavailable, "its worker has gone");
  json::Value data = json::Value::object({{"agentId", ended.scope.agent},
                                          {"content", std::move(content)},
                                          {"role", std::move(role)},
                                          {"sessionId", std::move(ended.thread)}});
  if (!tokens.is_null()) data.set("tokenUsage", std::move(tokens));
  const Result<json::Value> answer =
      co_await bus_.call_replacement(std::move(caller), std::string(kFunction), std::move(data));
  if (!answer) co_return fail(answer.error());
  co_return Result<>{};
}

}  // namespace chela::app
