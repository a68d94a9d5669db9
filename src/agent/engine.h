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
#include "op/principal.h"
#include "runtime/task.h"

namespace chela::agent {

struct EngineSettings;

// A file that comes with a message. All of it is from outside: the name is no path, the type may be wrong.
struct Upload {
  std::string name;
  std::string media_type;
  std::string bytes;
};

// A message from outside, for a thread of its scope.
struct Inbound {
  Scope scope;            // agent "" = the default agent
  std::string channel;    // "gateway", "v1", "cli"
  std::string thread_id;  // "" = the thread of external_thread, else the user's active thread of the channel
  std::string external_thread = {};
  std::string content;
  std::string idempotency_key = {};
  op::Permissions permissions = {};  // of whoever says it: which tools the turn may run
  std::string client_key = {};       // id of the token that they showed; its limits count the turn
  std::vector<Upload> attachments = {};
  // From here on for /v1 only.
  std::vector<llm::ToolSpec> client_tools = {};  // run by the client, offered beside the agent's own
  std::string client_system = {};                // added after our system prompt
  std::vector<llm::Message> history = {};        // of a new thread
  // Results of client tools by call id, for the turn that waits for them: of the thread, else of the one that waits for the ids.
  // `content` may then be empty; else it joins the turn in the same step.
  std::vector<llm::Message> client_results = {};
  // The conversation that the thread must be at, as its client knows it; nothing = wherever it is.
  std::optional<std::vector<llm::Message>> continues = {};
  // Of the turn that the message starts; one that runs keeps its own.
  llm::Sampling sampling = {};
  llm::ToolChoice tool_choice = llm::ToolChoice::kAuto;
  std::string tool_choice_name = {};
  // Which threads `thread_id` and `client_results` may lead to; another one is kNotFound.
  enum class Reach { kThreadsOfUser, kThreadsOfAgent } reach = Reach::kThreadsOfUser;
};

// Detail "reason" of the kConflict that send() gives when the thread is not where `continues` says.
inline constexpr std::string_view kMovedOn = "moved_on";

struct Accepted {
  std::string message_id;  // the first one when the idempotency key was seen before
  std::string thread_id;
  std::string turn_id;  // the turn the message started, joined or (busy = queue) will start
  bool duplicate = false;
  bool joined = false;  // a turn that somebody else's message had started
  // What a slash command answers. It has started no turn: turn_id is "".
  std::optional<std::string> reply = {};
};

struct PendingApproval {
  std::string request_id;
  std::string thread_id;
  std::string turn_id;
  std::string tool_name;
  std::string description;
  json::Value parameters;
};

// A credential that a person is asked for. The value is given with the thread's next message or give_credential().
struct PendingAuth {
  std::string request_id;
  std::string thread_id;
  std::string turn_id;
  std::string name;
  std::string instructions;
  std::string auth_url;
  std::string setup_url;
};

enum class TurnState {
  kProcessing,
  kAwaitingApproval,
  kAwaitingAuth,
  kAwaitingClient,
  kCompleted,
  kFailed,
  kInterrupted
};
std::string_view turn_state_name(TurnState state);  // history's words: processing, awaiting_approval, ...

struct TurnOutcome {
  TurnState state = TurnState::kProcessing;
  std::string reply;    // kCompleted: the model's last answer
  std::string visible;  // all text since the person's last message, "\n\n" between answers: /v1's content
  std::optional<Error> error = {};               // kFailed
  std::optional<PendingApproval> approval = {};  // kAwaitingApproval
  std::optional<PendingAuth> auth = {};          // kAwaitingAuth
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
  UnixMs started_at = 0;  // 0 = it did not run here
  UnixMs finished_at = 0;
};

struct HistoryAttachment {
  std::string name;
  std::string media_type;
  std::int64_t size = 0;
  std::string path;  // in the workspace
};

// A part of a turn in the order it came about: what the model wrote before tools, or a call by its id.
struct HistoryStep {
  std::string text;
  std::string call;
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
  std::vector<HistoryAttachment> attachments = {};  // those of messages that joined included
  std::vector<HistoryStep> steps = {};              // without the response
  std::string model = {};
  llm::Usage usage = {};
};

struct History {
  std::string thread_id;
  std::vector<HistoryTurn> turns;  // oldest first
  bool has_more = false;
  std::optional<PendingApproval> pending_approval;
  std::optional<PendingAuth> pending_auth = {};
  std::string last_event_id = {};  // of the user's event stream: what comes after it is not in here
};

// The channel's own name of the thread that is pinned for its user.
inline constexpr std::string_view kAssistantThread = "assistant";

inline constexpr std::size_t kMaxTitleBytes = 200;  // of a thread

// Which threads are listed.
struct ThreadQuery {
  std::size_t limit = 50;
  std::string channel = {};  // "" = of all
  std::string text = {};     // in the title; "" = all
};

struct AgentInfo {
  std::string name;
  std::string description;
  std::string model;  // that it would use now
};

// What models were asked for and gave.
struct ModelUsage {
  std::string model;
  std::int64_t turns = 0;
  llm::Usage tokens = {};
};

struct DayUsage {
  UnixMs day = 0;  // its beginning, UTC
  ModelUsage sum;
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

// A thread that begins with the first message sent to it. Until then nothing but this keeps it.
struct ThreadDraft {
  std::string id;
  std::shared_ptr<const void> held;
};

// The agents of the process, for everything that talks to them: gateway, CLI, later channels and bus. Lives on the loop, owned by app/.
class Engine {
 public:
  virtual ~Engine() = default;

  // A slash command (agent/commands/) is carried out, and its answer is in `reply`; anything else is said to the agent.
  // Durable when it returns: starts a turn, joins the running one (steering), queues, or answers the thread's pending question ("yes",
  // "always", "no" while a request is pending), or gives the turn the results it waits for. kNotFound for an unknown thread or agent,
  // and for results that no turn waits for; kConflict when the thread has moved on; kTooLarge, kRateLimited when queues are full.
  virtual Task<Result<Accepted>> send(Inbound inbound) = 0;

  // Finds the thread of a /v1 conversation by the messages before the last user message; nothing when none matches.
  virtual Task<Result<std::optional<std::string>>> find_transcript(Scope scope,
                                                                   std::vector<llm::Message> messages) = 0;

  // Takes the last turn back and gives its input again, in one step. kConflict when there is none or a turn runs. The same key: once.
  virtual Task<Result<Accepted>> retry(Scope scope, std::string thread_id, std::string idempotency_key,
                                       op::Permissions permissions = {}) = 0;
  // The conversation of inbound.thread_id before the turn goes on in a new thread, which becomes active, with inbound.content.
  // kNotFound when that turn cannot be seen.
  virtual Task<Result<Accepted>> edit(std::int64_t turn_number, Inbound inbound) = 0;

  // kNotFound, kConflict (decided); kPermissionDenied when somebody approves what they may not do themselves.
  virtual Task<Result<Accepted>> decide(Scope scope, std::string request_id, Decision decision,
                                        op::Permissions permissions) = 0;
  // The value of a credential that a person is asked for: it goes to the vault and nowhere else. kNotFound when nothing of the user waits
  // for one of the name.
  virtual Task<Result<>> give_credential(Scope scope, std::string name, std::string value) = 0;
  virtual Task<Result<>> cancel_credential(Scope scope, std::string name) = 0;

  // Ends the running turn; with a turn_id only that one. kConflict when it does not run.
  virtual Task<Result<>> interrupt(Scope scope, std::string thread_id, std::string turn_id = {}) = 0;

  // Makes a turn that ended long ago, or before the engine started, known to wait() again. kNotFound when the thread has no such turn.
  virtual Task<Result<>> recall_turn(Scope scope, std::string thread_id, std::string turn_id) = 0;
  // Waits until the turn is completed, failed or interrupted, or until it waits for an approval or for client tools.
  virtual Task<Result<TurnOutcome>> wait(Scope scope, std::string turn_id, std::stop_token stop) = 0;
  // The same, but sleeps on while an approval is pending.
  virtual Task<Result<TurnOutcome>> wait_through_approvals(Scope scope, std::string turn_id,
                                                           std::stop_token stop) = 0;

  virtual Task<Result<ThreadInfo>> create_thread(Scope scope, std::string channel,
                                                 std::string external_thread) = 0;  // and makes it active
  // A new thread without a write of its own: the first message sent to its id stores it. It can be subscribed to before.
  virtual Result<ThreadDraft> draft_thread(Scope scope, std::string channel) = 0;
  // Newest activity first.
  virtual Task<Result<std::vector<ThreadInfo>>> threads(Scope scope, ThreadQuery query) = 0;
  // The channel's pinned thread, made when there is none; which thread is active stays.
  virtual Task<Result<ThreadInfo>> assistant_thread(Scope scope, std::string channel) = 0;
  // Makes it the active one of its agent and channel.
  virtual Task<Result<ThreadInfo>> activate(Scope scope, std::string thread_id) = 0;
  // kInvalidArgument for a title that is empty, longer than kMaxTitleBytes or holds control characters.
  virtual Task<Result<ThreadInfo>> rename(Scope scope, std::string thread_id, std::string title) = 0;
  // The thread of messages that name none; nothing while the channel has none.
  virtual Task<Result<std::optional<std::string>>> chosen_thread(Scope scope, std::string channel) = 0;
  virtual Task<Result<std::string>> active_thread(Scope scope,
                                                  std::string channel) = 0;  // created when there is none
  virtual Task<Result<History>> history(Scope scope, std::string thread_id, std::size_t limit,
                                        std::optional<UnixMs> before) = 0;

  // thread_id "" = all threads of the user. last_event_id "" = live only. kRateLimited past the limit of subscribers.
  virtual Task<Result<std::unique_ptr<Subscription>>> subscribe(Scope scope, std::string thread_id,
                                                                std::string last_event_id) = 0;

  // For `chela log` ({"thread_id", "records"}), `chela replay`, `chela fork`.
  virtual Task<Result<json::Value>> log(Scope scope, std::string thread_id, std::int64_t after,
                                        std::size_t limit) = 0;
  virtual Task<Result<ReplayReport>> replay(Scope scope, std::string thread_id,
                                            std::int64_t until) = 0;  // until 0 = all
  virtual Task<Result<ThreadInfo>> fork(Scope scope, std::string thread_id, std::int64_t at) = 0;

  // The model of the user's next turn with the scope's agent, and another one for all of them from then on ("" = the configured one again).
  virtual Task<Result<std::string>> model(Scope scope) = 0;
  virtual Task<Result<>> use_model(Scope scope, std::string model) = 0;

  // The agents of $CHELA_HOME/agents and the built-in "default", by name.
  virtual std::vector<AgentInfo> agents() const = 0;

  // Of all users since the engine began, by model; past kMaxUsageModels they are one, "other".
  virtual std::vector<ModelUsage> usage_since_start() const = 0;
  // Of the user, of today and the days before it, by day and model.
  virtual Task<Result<std::vector<DayUsage>>> usage(Scope scope, int days) = 0;

  // For what comes from now on. What sizes the engine itself (running turns, loaded threads) stays as it was made.
  virtual void configure(EngineSettings settings) = 0;

  // Takes up what a crash left open. Called once, before any listener accepts.
  virtual Task<Result<>> recover() = 0;
  // Interrupts nothing that can be resumed: stops taking input, ends running model calls and tools, leaves their turns open in the log.
  virtual Task<> stop() = 0;
};

}  // namespace chela::agent
