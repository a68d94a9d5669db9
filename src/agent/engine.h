#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/events.h"
#include "agent/turn/decision.h"
#include "base/json.h"
#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "llm/provider.h"
#include "runtime/task.h"

namespace chela::agent {

// A message from outside, for a thread of its scope.
struct Inbound {
  Scope scope;            // agent "" = the default agent
  std::string channel;    // "gateway", "v1", "cli"
  std::string thread_id;  // "" = the thread of external_thread, else the user's active thread of the channel
  std::string external_thread = {};
  std::string content;
  std::string idempotency_key = {};
  // From here on for /v1 only.
  std::vector<llm::ToolSpec> client_tools = {};  // run by the client, offered beside the agent's own
  std::string client_system = {};                // added after our system prompt
  std::vector<llm::Message> history = {};        // of a new thread
  std::optional<double> temperature = {};
  std::optional<std::int64_t> max_tokens = {};
};

struct Accepted {
  std::string message_id;  // the first one when the idempotency key was seen before
  std::string thread_id;
  std::string turn_id;  // the turn the message started, joined or (busy = queue) will start
  bool duplicate = false;
  bool joined = false;  // a turn that somebody else's message had started
};

struct PendingApproval {
  std::string request_id;
  std::string thread_id;
  std::string turn_id;
  std::string tool_name;
  std::string description;
  json::Value parameters;
};

enum class TurnState { kProcessing, kAwaitingApproval, kAwaitingClient, kCompleted, kFailed, kInterrupted };
std::string_view turn_state_name(TurnState state);  // history's words: processing, awaiting_approval, ...

struct TurnOutcome {
  TurnState state = TurnState::kProcessing;
  std::string reply;    // kCompleted: the model's last answer
  std::string visible;  // all text since the person's last message, "\n\n" between answers: /v1's content
  std::optional<Error> error = {};               // kFailed
  std::optional<PendingApproval> approval = {};  // kAwaitingApproval
  std::vector<llm::ToolCall> client_calls = {};  // kAwaitingClient
  llm::Usage usage = {};                         // of the whole turn so far
  std::string model;
  llm::FinishReason finish_reason = llm::FinishReason::kStop;
};

struct HistoryToolCall {
  std::string id;
  std::string name;
  json::Value arguments;
  bool has_result = false;
  bool has_error = false;
  std::string result_preview;
};

struct HistoryTurn {
  std::int64_t number = 0;  // from 0
  std::string id;
  std::string user_input;  // what the person wrote, without the context block
  std::vector<std::string> steered;
  std::string response;
  TurnState state = TurnState::kProcessing;
  std::string error;
  UnixMs started_at = 0;
  UnixMs completed_at = 0;  // 0 while it runs
  std::vector<HistoryToolCall> tool_calls;
};

struct History {
  std::string thread_id;
  std::vector<HistoryTurn> turns;  // oldest first
  bool has_more = false;
  std::optional<PendingApproval> pending_approval;
};

struct ThreadInfo {
  std::string id;
  std::string agent;
  std::string channel;
  std::string external_thread;
  std::string title;
  std::string state;  // "Idle", "Processing", "AwaitingApproval"
  std::int64_t turn_count = 0;
  UnixMs created_at = 0;
  UnixMs updated_at = 0;
};

struct ReplayReport {
  std::int64_t records = 0;
  std::int64_t effects = 0;   // compared
  std::int64_t requests = 0;  // model requests rebuilt and hashed
  std::vector<std::string> differences;
};

// The agents of the process, for everything that talks to them: gateway, CLI, later channels and bus. Lives on the loop, owned by app/.
class Engine {
 public:
  virtual ~Engine() = default;

  // Durable when it returns: starts a turn, joins the running one (steering), queues, or answers the thread's pending question ("yes",
  // "always", "no" while a request is pending). kNotFound for an unknown thread or agent, kTooLarge, kRateLimited when queues are full.
  virtual Task<Result<Accepted>> send(Inbound inbound) = 0;

  // Results of client tools by call id, for a turn in kAwaitingClient of the thread; "" = of the thread that waits for the ids.
  // kNotFound when the turn, or any turn of the user, does not wait for them.
  virtual Task<Result<Accepted>> submit_client_results(Scope scope, std::vector<llm::Message> tool_messages,
                                                       std::string thread_id = {}) = 0;

  // Finds the thread of a /v1 conversation by the messages before the last user message; nothing when none matches.
  virtual Task<Result<std::optional<std::string>>> find_transcript(Scope scope,
                                                                   std::vector<llm::Message> messages) = 0;

  virtual Task<Result<Accepted>> decide(Scope scope, std::string request_id,
                                        Decision decision) = 0;  // kNotFound, kConflict (decided)
  // Ends the running turn; with a turn_id only that one. kConflict when it does not run.
  virtual Task<Result<>> interrupt(Scope scope, std::string thread_id, std::string turn_id = {}) = 0;

  // Waits until the turn is completed, failed or interrupted, or until it waits for an approval or for client tools.
  virtual Task<Result<TurnOutcome>> wait(Scope scope, std::string turn_id, std::stop_token stop) = 0;
  // The same, but sleeps on while an approval is pending.
  virtual Task<Result<TurnOutcome>> wait_through_approvals(Scope scope, std::string turn_id,
                                                           std::stop_token stop) = 0;

  virtual Task<Result<ThreadInfo>> create_thread(Scope scope, std::string channel,
                                                 std::string external_thread) = 0;  // and makes it active
  virtual Task<Result<std::vector<ThreadInfo>>> threads(Scope scope, std::size_t limit) = 0;
  virtual Task<Result<std::string>> active_thread(Scope scope,
                                                  std::string channel) = 0;  // created when there is none
  virtual Task<Result<History>> history(Scope scope, std::string thread_id, std::size_t limit,
                                        std::optional<UnixMs> before) = 0;

  // thread_id "" = all threads of the user. last_event_id "" = live only. kRateLimited past the limit of subscribers.
  virtual Task<Result<std::unique_ptr<Subscription>>> subscribe(Scope scope, std::string thread_id,
                                                                std::string last_event_id) = 0;

  // For `chela log`, `chela replay`, `chela fork`.
  virtual Task<Result<json::Value>> log(Scope scope, std::string thread_id, std::int64_t after,
                                        std::size_t limit) = 0;
  virtual Task<Result<ReplayReport>> replay(Scope scope, std::string thread_id,
                                            std::int64_t until) = 0;  // until 0 = all
  virtual Task<Result<ThreadInfo>> fork(Scope scope, std::string thread_id, std::int64_t at) = 0;

  // Names of the agents of $CHELA_HOME/agents and the built-in "default".
  virtual std::vector<std::string> agents() const = 0;

  // Takes up what a crash left open. Called once, before any listener accepts.
  virtual Task<Result<>> recover() = 0;
  // Interrupts nothing that can be resumed: stops taking input, ends running model calls and tools, leaves their turns open in the log.
  virtual Task<> stop() = 0;
};

}  // namespace chela::agent
