#pragma once

#include <array>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "agent/attachments.h"
#include "agent/commands/parse.h"
#include "agent/dependencies.h"
#include "agent/engine.h"
#include "agent/hub.h"
#include "agent/prompt_sources.h"
#include "agent/thread.h"
#include "agent/thread_table.h"
#include "agent/turn/state.h"
#include "crypto/secret.h"
#include "hooks/hooks.h"
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

// The engine. Split over files along its ideas: inputs (engine_input.cc, engine_answers.cc), slash words
// (engine_commands.cc), the turn's work (turn_runner.cc), threads and their log
// (engine_threads.cc), lists of threads and agents and what was used (engine_lists.cc), questions about the past (history.cc, replay.cc). Loop thread only.
class EngineImpl final : public Engine {
 public:
  explicit EngineImpl(Dependencies dependencies);
  ~EngineImpl() override;

  Task<Result<Accepted>> send(Inbound inbound) override;
  Task<Result<std::optional<std::string>>> find_transcript(Scope scope,
                                                           std::vector<llm::Message> messages) override;
  Task<Result<Accepted>> decide(Scope scope, std::string request_id, Decision decision,
                                op::Permissions permissions) override;
  Task<Result<>> give_credential(Scope scope, std::string name, std::string value) override;
  Task<Result<>> cancel_credential(Scope scope, std::string name) override;
  Task<Result<>> interrupt(Scope scope, std::string thread_id, std::string turn_id) override;
  Task<Result<>> recall_turn(Scope scope, std::string thread_id, std::string turn_id) override;
  Task<Result<Accepted>> retry(Scope scope, std::string thread_id, std::string key,
                               op::Permissions permissions) override;
  Task<Result<Accepted>> edit(std::int64_t turn_number, Inbound inbound) override;
  Task<Result<TurnOutcome>> wait(Scope scope, std::string turn_id, std::stop_token stop) override;
  Task<Result<TurnOutcome>> wait_through_approvals(Scope scope, std::string turn_id,
                                                   std::stop_token stop) override;
  Task<Result<ThreadInfo>> create_thread(Scope scope, std::string channel,
                                         std::string external_thread) override;
  Result<ThreadDraft> draft_thread(Scope scope, std::string channel) override;
  Task<Result<std::vector<ThreadInfo>>> threads(Scope scope, ThreadQuery query) override;
  Task<Result<ThreadInfo>> assistant_thread(Scope scope, std::string channel) override;
  Task<Result<ThreadInfo>> activate(Scope scope, std::string thread_id) override;
  Task<Result<ThreadInfo>> rename(Scope scope, std::string thread_id, std::string title) override;
  Task<Result<std::optional<std::string>>> chosen_thread(Scope scope, std::string channel) override;
  Task<Result<std::string>> active_thread(Scope scope, std::string channel) override;
  Task<Result<History>> history(Scope scope, std::string thread_id, std::size_t limit,
                                std::optional<UnixMs> before) override;
  Task<Result<std::unique_ptr<Subscription>>> subscribe(Scope scope, std::string thread_id,
                                                        std::string last_event_id) override;
  Task<Result<json::Value>> log(Scope scope, std::string thread_id, std::int64_t after,
                                std::size_t limit) override;
  Task<Result<ReplayReport>> replay(Scope scope, std::string thread_id, std::int64_t until) override;
  Task<Result<ThreadInfo>> fork(Scope scope, std::string thread_id, std::int64_t at) override;
  Task<Result<std::string>> model(Scope scope) override;
  Task<Result<>> use_model(Scope scope, std::string model) override;
  std::vector<AgentInfo> agents() const override;
  std::vector<ModelUsage> usage_since_start() const override;
  Task<Result<std::vector<DayUsage>>> usage(Scope scope, int days) override;
  void configure(EngineSettings settings) override;
  Task<Result<>> recover() override;
  Task<> stop() override;

 private:
  using Durable = runtime::Completion<Result<>>;

  // Threads and their log.
  Scope normalised(Scope scope) const;
  Result<AgentSpec> spec_of(const std::string& agent) const;
  Task<Result<ThreadPtr>> open_thread(Scope scope, std::string id);
  Task<Result<ThreadPtr>> open_named(Scope scope, std::string channel, std::string external);
  ThreadPtr new_draft(const Scope& scope, const std::string& channel, const std::string& external);
  Task<Result<>> load(ThreadPtr thread);
  static Result<turn::State> fold(const std::vector<store::LogRecord>& records);
  Task<Result<History>> past_of(store::ThreadRow row, ThreadPtr thread, std::size_t limit,
                                std::optional<UnixMs> before);
  Task<Result<std::vector<store::LogRecord>>> whole_log(Scope scope, std::string id, std::int64_t until);
  Task<Result<ThreadPtr>> thread_for(Inbound inbound);
  Durable append(ThreadPtr thread, turn::Input input, store::Durability durability, AppendExtras extras = {});
  // All or none of the records are on disk after a crash.
  Durable append_all(ThreadPtr thread, std::vector<turn::Input> inputs, store::Durability durability,
                     AppendExtras extras);
  Task<> write(ThreadPtr thread, store::AppendRequest request, Durable done);
  Task<Result<>> make_active(Scope scope, std::string channel, std::string id);
  void begin_session(const ThreadPtr& thread);
  void end_session(const Scope& scope);
  void tell_hooks(hooks::Point point, hooks::Event event);
  static ThreadInfo info_of(const store::ThreadRow& row, const turn::State* state);
  std::optional<store::UsageAdd> count(const turn::Input& input, const turn::State& state);

  // Commands.
  Task<Result<Accepted>> run_command(Inbound inbound, commands::Parsed parsed);
  Task<Result<Accepted>> carry_out(Inbound inbound, commands::Parsed parsed);
  Task<Result<Accepted>> repeat_command(Scope scope, Accepted first, commands::Parsed parsed);
  Accepted command_answer(const ThreadPtr& thread, std::string reply, std::string message_id = {});
  // The id of a command's message, and the idempotency key it came with ("" = none).
  struct KeyedMessage {
    std::string id;
    std::string key;
    std::optional<std::pair<std::string, std::string>> kept() const {
      return key.empty() ? std::nullopt : std::optional(std::pair(key, id));
    }
  };
  Task<Result<std::string>> perform_command(ThreadPtr thread, commands::Command command,
                                            KeyedMessage message);
  Task<Result<>> keep_key(Scope scope, std::string thread_id, std::string key, std::string message_id);
  static std::optional<Result<std::string>> not_now(const Thread& thread);
  Task<Result<std::string>> change_thread(ThreadPtr thread, commands::Command command, KeyedMessage message);
  Task<Result<std::string>> undo(ThreadPtr thread, KeyedMessage message);
  Task<Result<std::string>> redo(ThreadPtr thread, KeyedMessage message);
  Task<Result<std::string>> clear(ThreadPtr thread, KeyedMessage message);
  Task<Result<std::string>> compact(ThreadPtr thread, KeyedMessage message);
  Task<Result<std::string>> summarize(ThreadPtr thread, KeyedMessage message);
  llm::Caller caller_of(const ThreadPtr& thread);
  llm::Caller caller_of(const ThreadPtr& thread, std::shared_ptr<json::Array> choices);
  Task<Result<AgentSpec>> spec_for(Scope scope);
  void remember_model(const std::string& key, std::string model);
  Task<Result<ModelChoice>> model_for(Scope scope);
  Task<Result<std::string>> model_command(ThreadPtr thread, std::string name);
  Task<Result<std::vector<std::string>>> listed_models(llm::Provider* provider);
  Task<Result<Accepted>> begin_thread(Inbound inbound);
  Task<Result<Accepted>> switch_thread(ThreadPtr present, Inbound inbound, std::string id);
  Task<Result<Accepted>> decide_spoken(ThreadPtr thread, Inbound inbound, Decision decision);
  std::string tools_text(const Thread& thread) const;
  Task<Result<std::string>> status_text(ThreadPtr thread);

  // Inputs.
  Task<Result<Inbound>> through_hooks(ThreadPtr thread, Inbound inbound);
  Task<Result<Accepted>> take_in(ThreadPtr thread, Inbound raw);
  Task<Result<Accepted>> place(ThreadPtr thread, Inbound inbound, std::string message_id,
                               std::vector<Attached> attached);
  Task<Result<Accepted>> take_results(ThreadPtr thread, Inbound inbound);
  // What is recorded in one step with the start of a turn, before it.
  struct Prelude {
    std::vector<turn::Input> records = {};
    std::optional<std::int64_t> number = {};  // of the turn, when these records change it
    std::int64_t add_turns = 0;
    std::vector<Attached> attached = {};  // files of the message, saved
  };
  Task<Result<Accepted>> start_turn(ThreadPtr thread, Inbound inbound, std::string message_id,
                                    std::string turn_id, Prelude prelude);
  // Of a new thread whose first record is still to be written.
  struct Branch {
    ThreadPtr thread;
    Prelude prelude;
  };
  Task<Result<Inbound>> with_terms_of(Scope scope, turn::TurnStarted before, Inbound inbound);
  Task<Result<Branch>> branch_off(store::ThreadRow like, std::string from, std::int64_t at);
  // Who gave an answer: a message and its idempotency key, both "" when it came another way, and what they may do.
  struct SaidBy {
    std::string id;
    std::string input;
    std::string key;
    op::Permissions permissions;
  };
  Task<Result<Accepted>> answer(ThreadPtr thread, std::string request_id, Decision decision, SaidBy message);
  Result<> may_approve(const Scope& scope, const std::string& tool, const op::Permissions& permissions) const;
  Task<Result<Accepted>> decide_by(Scope scope, std::string request_id, Decision decision, SaidBy message);
  Task<Result<>> interrupt_turn(ThreadPtr thread, std::string turn_id, KeyedMessage message);
  Task<> start_queued(ThreadPtr thread);
  Task<Result<Accepted>> start_waiting(ThreadPtr thread, turn::Steered next);
  Task<> refuse_waiting(ThreadPtr thread, turn::Steered next, Error error);
  static std::string title_of(std::string_view input);
  Result<> check_terms(const Scope& scope, const Inbound& inbound);
  static std::optional<std::pair<std::string, std::string>> idempotency(const std::string& key,
                                                                        const std::string& message_id);
  static Failure too_many_wait(size_t waiting);
  static Failure nobody_waits();  // for these results
  // Call ids are a client's: another user's may be the same.
  static std::string client_call_key(const Scope& scope, std::string_view call_id);

  // Credentials that people are asked for (engine_auth.cc).
  struct OpenCredential {
    std::string thread;
    Scope scope;
    std::string name;
    runtime::TimerId timer;
  };
  static std::optional<PendingAuth> pending_auth(const Thread& thread);
  Task<> ask_credential(ThreadPtr thread, std::string turn, tools::FinishedCall call);
  void watch_credential(const ThreadPtr& thread, const turn::CredentialAsked& asked);
  void expire_at(const std::string& request_id, SteadyTime when);
  void forget_credential(const std::string& request_id);
  Task<> expire_credential(std::string request_id);
  Result<std::string> credential_request(const Scope& scope, std::string_view name) const;
  Task<Result<Accepted>> take_credential(ThreadPtr thread, Inbound inbound);
  Task<Result<>> store_credential(Scope scope, std::string name, tools::Replacing replacing,
                                  crypto::Secret value);
  Task<Result<>> keep_credential(ThreadPtr thread, std::string request_id, std::string value,
                                 KeyedMessage message);
  Task<Result<>> end_credential(ThreadPtr thread, std::string request_id, turn::CredentialEnd end,
                                KeyedMessage message);
  Task<Result<std::vector<Attached>>> saved(Scope scope, std::vector<Attached> files);
  Task<Result<std::vector<Attached>>> recorded_attachments(Scope scope,
                                                           std::vector<turn::Attachment> recorded);
  Task<Result<llm::Request>> with_images(Scope scope, llm::Request request);
  Task<Result<std::optional<Accepted>>> seen_before(const Inbound& inbound);
  // Two requests with one key are taken in one after the other, so that the second finds the first.
  class KeyGuard;
  Task<KeyGuard> take_key(Inbound inbound);
  static Result<> check_key(const Inbound& inbound);
  Result<> check_message(const Inbound& inbound) const;
  void recall_outcome(const Scope& scope, const std::string& thread, const std::string& turn_id,
                      const std::vector<store::LogRecord>& records);

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
  std::vector<ModelUsage> since_start_;
  Hub hub_;
  PromptSources prompts_;
  runtime::TaskGroup tasks_;
  runtime::Semaphore slots_;
  bool stopping_ = false;
  std::int64_t use_counter_ = 0;
  std::unordered_map<std::string, std::string> sessions_;  // session key -> id, of those that have begun
  ThreadTable threads_;
  std::unordered_map<std::string, Watch> watches_;
  std::list<std::string> ended_;                                 // turn ids, oldest first: bounds watches_
  std::unordered_map<std::string, std::string> asked_;           // request id -> thread id
  std::unordered_map<std::string, OpenCredential> credentials_;  // by request id
  std::unordered_map<std::string, std::string> with_client_;     // user key + call id -> thread id
  std::stop_source leaving_;                                     // ends model calls that belong to no turn
  std::unordered_map<std::string, std::unique_ptr<runtime::Mutex>> keys_;  // idempotency keys being taken in
  std::unordered_map<std::string, std::string> chosen_models_;  // scope -> model, "" = none chosen; bounded
  std::uint64_t model_changes_ = 0;
  runtime::Mutex keeping_;        // held while a credential is compared with the vault's and stored
  runtime::Mutex first_threads_;  // held while a user's first thread of a channel is made
  std::unordered_map<std::string, std::set<std::string>> auto_approved_;  // scope -> tools

  obs::Counter& turns_started_;
  obs::Counter& turns_completed_;
  obs::Counter& turns_failed_;
  obs::Counter& turns_interrupted_;
  obs::Counter& late_results_;
  std::array<obs::Counter*, 3> prefix_calls_;  // by turn::Prefix
  obs::Histogram& turn_seconds_;
};

// Holds an idempotency key, or nothing when the message has none.
class EngineImpl::KeyGuard {
 public:
  KeyGuard(EngineImpl& engine, std::string key, std::optional<runtime::Mutex::Guard> guard)
      : engine_(&engine), key_(std::move(key)), guard_(std::move(guard)) {}
  KeyGuard(KeyGuard&& other) noexcept = default;
  KeyGuard& operator=(KeyGuard&&) = delete;
  ~KeyGuard() {
    if (!guard_) return;
    guard_.reset();
    const auto found = engine_->keys_.find(key_);
    if (found != engine_->keys_.end() && !found->second->locked()) engine_->keys_.erase(found);
  }

 private:
  EngineImpl* engine_;
  std::string key_;
  std::optional<runtime::Mutex::Guard> guard_;
};

}  // namespace chela::agent
