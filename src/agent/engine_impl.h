#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "agent/dependencies.h"
#include "agent/engine.h"
#include "agent/hub.h"
#include "agent/thread.h"
#include "agent/turn/state.h"
#include "obs/metrics.h"
#include "runtime/mutex.h"
#include "runtime/task_group.h"

namespace chela::agent {

// What an append changes beside the log.
struct AppendExtras {
  std::optional<std::string> open_turn = {};
  std::optional<std::string> title = {};
  std::int64_t add_turns = 0;
  std::optional<std::pair<std::string, std::string>> idempotency = {};
};

// The engine. Split over files along its ideas: inputs (engine_input.cc), the turn's work (turn_runner.cc), threads and their log
// (engine_threads.cc), questions about the past (history.cc, replay.cc). Loop thread only.
class EngineImpl final : public Engine {
 public:
  explicit EngineImpl(Dependencies dependencies);
  ~EngineImpl() override;

  Task<Result<Accepted>> send(Inbound inbound) override;
  Task<Result<Accepted>> submit_client_results(Scope scope, std::vector<llm::Message> tool_messages,
                                               std::string thread_id) override;
  Task<Result<std::optional<std::string>>> find_transcript(Scope scope,
                                                           std::vector<llm::Message> messages) override;
  Task<Result<Accepted>> decide(Scope scope, std::string request_id, Decision decision) override;
  Task<Result<>> interrupt(Scope scope, std::string thread_id, std::string turn_id) override;
  Task<Result<TurnOutcome>> wait(Scope scope, std::string turn_id, std::stop_token stop) override;
  Task<Result<TurnOutcome>> wait_through_approvals(Scope scope, std::string turn_id,
                                                   std::stop_token stop) override;
  Task<Result<ThreadInfo>> create_thread(Scope scope, std::string channel,
                                         std::string external_thread) override;
  Task<Result<std::vector<ThreadInfo>>> threads(Scope scope, std::size_t limit) override;
  Task<Result<std::string>> active_thread(Scope scope, std::string channel) override;
  Task<Result<History>> history(Scope scope, std::string thread_id, std::size_t limit,
                                std::optional<UnixMs> before) override;
  Task<Result<std::unique_ptr<Subscription>>> subscribe(Scope scope, std::string thread_id,
                                                        std::string last_event_id) override;
  Task<Result<json::Value>> log(Scope scope, std::string thread_id, std::int64_t after,
                                std::size_t limit) override;
  Task<Result<ReplayReport>> replay(Scope scope, std::string thread_id, std::int64_t until) override;
  Task<Result<ThreadInfo>> fork(Scope scope, std::string thread_id, std::int64_t at) override;
  std::vector<std::string> agents() const override;
  Task<Result<>> recover() override;
  Task<> stop() override;

 private:
  using Durable = runtime::Completion<Result<>>;

  // Threads and their log.
  Scope normalised(Scope scope) const;
  Result<AgentSpec> spec_of(const std::string& agent) const;
  Task<Result<ThreadPtr>> open_thread(Scope scope, std::string id);
  Task<Result<>> load(ThreadPtr thread);
  Task<Result<std::vector<store::LogRecord>>> whole_log(Scope scope, std::string id, std::int64_t until);
  Task<Result<ThreadPtr>> thread_for(Inbound inbound);
  Durable append(ThreadPtr thread, turn::Input input, store::Durability durability, AppendExtras extras = {});
  Task<> write(ThreadPtr thread, store::AppendRequest request, std::string kind, Durable done);
  void forget_idle_threads();
  static ThreadInfo info_of(const store::ThreadRow& row, const turn::State* state);

  // Inputs.
  Task<Result<Accepted>> take_in(ThreadPtr thread, Inbound inbound);
  Task<Result<Accepted>> start_turn(ThreadPtr thread, Inbound inbound, std::string message_id,
                                    std::string turn_id);
  Task<Result<turn::Sources>> sources_for(const Scope& scope, const AgentSpec& agent, const Inbound& inbound,
                                          turn::TurnStarted& started);
  Task<Result<>> put_blob(Scope scope, std::string hash, std::string content);
  // Who gave an answer: a message and its idempotency key, both "" when it came another way.
  struct SaidBy {
    std::string id;
    std::string input;
    std::string key;
  };
  Task<Result<Accepted>> answer(ThreadPtr thread, std::string request_id, Decision decision, SaidBy message);
  Task<> start_queued(ThreadPtr thread);
  Task<Result<std::optional<Accepted>>> seen_before(const Inbound& inbound);
  Task<std::string> turn_of_message(Scope scope, std::string thread_id, std::string message_id);

  // The turn's work.
  void wake_turn(ThreadPtr thread);
  Task<> run_turn(ThreadPtr thread, std::string turn);
  Task<> perform(ThreadPtr thread, std::string turn);
  Task<> call_model(ThreadPtr thread, std::string turn);
  Task<> prepare_calls(ThreadPtr thread, std::string turn, std::vector<llm::ToolCall> calls);
  Task<tools::PreparedCall> prepare_call(ThreadPtr thread, llm::ToolCall call);
  Task<> run_calls(ThreadPtr thread, std::string turn, std::vector<tools::PreparedCall> calls);
  Task<bool> run_call(ThreadPtr thread, std::string turn, tools::PreparedCall call);
  Task<> settle_unfinished(ThreadPtr thread, std::string turn);
  Task<> ask(ThreadPtr thread, std::string turn, tools::PreparedCall call);
  Task<> finish(ThreadPtr thread, std::string turn);
  Task<> fail_turn(ThreadPtr thread, std::string turn, Error error);
  // The turn that is open once the running one has ended: that of the next waiting message, or none.
  static std::string next_open(const Thread& thread) {
    return thread.state.queue.empty() ? "" : thread.state.queue.front().next_turn;
  }
  static bool current(const Thread& thread, const std::string& turn);
  void give_up(const ThreadPtr& thread, const std::string& turn);

  // Waiting.
  Watch& watch(const ThreadPtr& thread, const std::string& turn);
  void publish_state(const ThreadPtr& thread, const std::string& turn);
  void end_watch(const std::string& turn, TurnOutcome outcome);
  Task<Result<TurnOutcome>> wait_until(Scope scope, std::string turn_id, std::stop_token stop,
                                       bool through_approvals);

  Task<std::set<std::string>> auto_approved(const Scope& scope);

  Dependencies d_;
  Hub hub_;
  runtime::TaskGroup tasks_;
  runtime::Semaphore slots_;
  bool stopping_ = false;
  std::int64_t use_counter_ = 0;
  std::unordered_map<std::string, ThreadPtr> threads_;
  std::unordered_map<std::string, Watch> watches_;
  std::list<std::string> ended_;                              // turn ids, oldest first: bounds watches_
  std::unordered_map<std::string, std::string> asked_;        // request id -> thread id
  std::unordered_map<std::string, std::string> with_client_;  // user key + call id -> thread id
  std::unordered_map<std::string, std::unique_ptr<runtime::Mutex>> keys_;  // idempotency keys being taken in
  std::set<std::string> stored_blobs_;  // bounded; what need not be written again
  std::unordered_map<std::string, std::set<std::string>> auto_approved_;  // scope -> tools

  obs::Counter& turns_started_;
  obs::Counter& turns_completed_;
  obs::Counter& turns_failed_;
  obs::Counter& turns_interrupted_;
  obs::Counter& late_results_;
  obs::Histogram& turn_seconds_;
};

}  // namespace chela::agent
