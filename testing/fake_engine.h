#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/dependencies.h"
#include "agent/engine.h"
#include "runtime/channel.h"
#include "runtime/completion.h"

namespace chela::testing {

// An agent engine that does what a test says, for tests of everything in front of it. Each message takes the next scripted turn.
// Loop thread only.
class FakeEngine final : public agent::Engine {
 public:
  struct Turn {
    std::vector<std::pair<std::string, json::Value>> events = {};  // type and fields; the ids are filled in
    agent::TurnOutcome outcome = {.state = agent::TurnState::kCompleted, .reply = "done", .visible = "done"};
    enum class End { kAtOnce, kWhenReleased } end = End::kAtOnce;
  };

  explicit FakeEngine(runtime::EventLoop& loop) : loop_(loop) {}

  // --- The script
  std::deque<Turn> script;
  std::optional<std::string> command_reply;  // the next message is taken as a command that answers this
  std::optional<Error> refuse;               // what send() answers instead
  std::set<std::string> known_threads;       // others are kNotFound
  std::optional<std::string> transcript;     // what find_transcript() finds
  std::optional<agent::PendingApproval> pending;
  std::vector<agent::HistoryTurn> turns;  // of every thread
  std::size_t max_subscribers = 100;
  std::set<std::string> client_call_ids;  // what send() takes results of

  // Lets the oldest held turn end.
  void release();
  // An event outside of any turn.
  void publish(agent::Event event);
  // Cuts all subscriptions off, as the engine does with slow ones.
  void cut_off();

  // --- What happened
  std::vector<agent::Inbound> sent;
  std::vector<std::vector<llm::Message>> results;
  std::vector<std::vector<llm::Message>> looked_up;
  std::vector<std::pair<std::string, agent::Decision>> decisions;
  std::vector<std::pair<std::string, std::string>> credentials;  // name and value given, "" = cancelled
  std::string wants_credential;                                  // the name of the one that is asked for
  std::string used_model = "m-1";
  std::vector<std::string> interrupted;
  std::vector<std::string> retried;  // threads
  std::vector<std::pair<std::int64_t, agent::Inbound>> edited;
  std::vector<std::pair<std::string, std::string>> subscribed;  // thread, last event id
  std::vector<SteadyTime> refused_subscriptions;                // past max_subscribers
  int waited_through_approvals = 0;
  std::optional<agent::EngineSettings> configured;
  std::vector<agent::ModelUsage> used;         // what usage_since_start() says
  std::optional<std::string> active;           // what chosen_thread() says
  std::map<std::string, std::string> renamed;  // title by thread
  std::vector<agent::ThreadQuery> queries;
  std::size_t subscribers() const { return feeds_.size(); }

  Task<Result<agent::Accepted>> send(agent::Inbound inbound) override;
  Task<Result<std::optional<std::string>>> find_transcript(Scope scope,
                                                           std::vector<llm::Message> messages) override;
  Task<Result<agent::Accepted>> retry(Scope scope, std::string thread_id, std::string key,
                                      op::Permissions permissions) override;
  Task<Result<agent::Accepted>> edit(std::int64_t turn_number, agent::Inbound inbound) override;
  Task<Result<>> give_credential(Scope scope, std::string name, std::string value) override;
  Task<Result<>> cancel_credential(Scope scope, std::string name) override;
  Task<Result<agent::Accepted>> decide(Scope scope, std::string request_id, agent::Decision decision,
                                       op::Permissions permissions) override;
  Task<Result<>> interrupt(Scope scope, std::string thread_id, std::string turn_id) override;
  Task<Result<>> recall_turn(Scope scope, std::string thread_id, std::string turn_id) override;
  Task<Result<agent::TurnOutcome>> wait(Scope scope, std::string turn_id, std::stop_token stop) override;
  Task<Result<agent::TurnOutcome>> wait_through_approvals(Scope scope, std::string turn_id,
                                                          std::stop_token stop) override;
  Task<Result<agent::ThreadInfo>> create_thread(Scope scope, std::string channel,
                                                std::string external) override;
  Result<agent::ThreadDraft> draft_thread(Scope scope, std::string channel) override;
  Task<Result<std::vector<agent::ThreadInfo>>> threads(Scope scope, agent::ThreadQuery query) override;
  Task<Result<agent::ThreadInfo>> assistant_thread(Scope scope, std::string channel) override;
  Task<Result<agent::ThreadInfo>> activate(Scope scope, std::string thread) override;
  Task<Result<agent::ThreadInfo>> rename(Scope scope, std::string thread, std::string title) override;
  Task<Result<std::optional<std::string>>> chosen_thread(Scope scope, std::string channel) override;
  Task<Result<std::string>> active_thread(Scope scope, std::string channel) override;
  Task<Result<agent::History>> history(Scope scope, std::string thread, std::size_t limit,
                                       std::optional<UnixMs> before) override;
  Task<Result<std::unique_ptr<agent::Subscription>>> subscribe(Scope scope, std::string thread,
                                                               std::string last) override;
  Task<Result<json::Value>> log(Scope scope, std::string thread, std::int64_t after,
                                std::size_t limit) override;
  Task<Result<agent::ReplayReport>> replay(Scope scope, std::string thread, std::int64_t until) override;
  Task<Result<agent::ThreadInfo>> fork(Scope scope, std::string thread, std::int64_t at) override;
  Task<Result<std::string>> model(Scope scope) override;
  Task<Result<>> use_model(Scope scope, std::string model) override;
  std::vector<agent::AgentInfo> agents() const override {
    return {{"default", "", "m-1"}, {"writer", "", "m-1"}};
  }
  std::vector<agent::ModelUsage> usage_since_start() const override { return used; }
  Task<Result<std::vector<agent::DayUsage>>> usage(Scope scope, int days) override;
  void configure(agent::EngineSettings settings) override { configured = settings; }
  Task<Result<>> recover() override;
  Task<> stop() override;

 private:
  friend class FakeSubscription;
  using Feed = runtime::Channel<agent::Event>;
  struct Running {
    Turn turn;
    bool ended = false;
    std::vector<runtime::Completion<bool>> waiters;
  };

  Result<agent::Accepted> start(const std::string& thread);
  void end(Running& running);
  Result<> known(const std::string& thread) const;

  runtime::EventLoop& loop_;
  std::map<std::string, std::shared_ptr<Running>> running_;  // by turn id
  std::deque<std::string> held_;
  std::map<Feed*, std::pair<std::shared_ptr<Feed>, std::string>> feeds_;  // and the thread it is for
  int next_turn_ = 1;
  int next_thread_ = 1;
  int next_event_ = 1;
};

}  // namespace chela::testing
