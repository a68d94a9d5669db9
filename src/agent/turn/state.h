#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/turn/conversation.h"
#include "agent/turn/decision.h"
#include "base/error.h"
#include "llm/provider.h"
#include "tools/call.h"

// A turn as a pure state machine over its log. advance() does no I/O and reads no clock: everything it knows came in as an input, and each
// input is a record of the log. Folding a thread's records therefore gives the state the engine had, after a crash or in a replay.
namespace chela::agent::turn {

// --- Inputs. Each is one record kind of docs/contracts.md.

struct TurnStarted {
  std::string turn;
  std::int64_t number = 0;
  std::string message_id;
  std::string input;    // what the person wrote
  std::string content;  // what the model sees: context block and input
  std::string agent;
  std::string model;
  std::string system_hash;                  // blob: the system prompt
  std::string tools_hash;                   // blob: the tools offered, as a JSON array
  std::set<std::string> client_tools = {};  // names that the client runs
  std::vector<llm::Message> history = {};   // of a thread that begins with a client's conversation
  std::string channel;
  int max_iterations = 0;
  std::int64_t context_tokens = 0;
  std::optional<double> temperature = {};
  std::optional<std::int64_t> max_tokens = {};
  UnixMs at = 0;
};

struct ModelRequested {
  int iteration = 0;
  std::string hash;  // of the canonical JSON of the request
};

struct ModelAnswered {
  llm::Answer answer;
};

struct ToolRequested {
  std::vector<tools::PreparedCall> calls;
};

struct ToolStarted {
  std::string id;
  std::string name;
};

enum class Ending { kRan, kRefused, kDenied, kInterrupted, kClient };
std::string_view ending_name(Ending ending);
std::optional<Ending> ending_from_name(std::string_view name);

struct ToolFinished {
  tools::FinishedCall call;
  Ending ending = Ending::kRan;
};

struct Asked {
  std::string request_id;
  std::string call_id;
  std::string tool_name;
  std::string description;
  json::Value arguments;
};

struct Answered {
  std::string request_id;
  Decision decision = Decision::kDeny;
  std::string input = {};  // the message that said so, "" when it came another way
};

struct Steered {
  std::string message_id;
  std::string input;
  std::string next_turn =
      {};  // the turn this message will start after the running one; "" = it joins the running one
};

struct Compacted {
  CompactionPlan plan;
  bool refused_length = false;  // the provider had refused the prompt as too long
};

struct Interrupted {
  std::string reason;
};

struct TurnFinished {
  std::string reply;
  llm::Usage usage;
  llm::FinishReason finish_reason = llm::FinishReason::kStop;
  UnixMs at = 0;
};

struct TurnFailed {
  Error error;
};

// The thread continues the conversation that another one had after its record `at`.
struct Forked {
  std::string from;
  std::int64_t at = 0;
};

using Input =
    std::variant<TurnStarted, ModelRequested, ModelAnswered, ToolRequested, ToolStarted, ToolFinished, Asked,
                 Answered, Steered, Compacted, Interrupted, TurnFinished, TurnFailed, Forked>;

// --- State

enum class CallStatus {
  kRequested,      // named by the model
  kRunnable,       // prepared and allowed
  kStarted,        // running, or running when the engine stopped
  kNeedsApproval,  // prepared, to be asked
  kAsked,
  kWithClient,  // the client runs it
  kDone,
};

struct Call {
  llm::ToolCall request;
  CallStatus status = CallStatus::kRequested;
  tools::PreparedCall prepared;
  std::string request_id;  // of the approval
  tools::FinishedCall result;
  Ending ending = Ending::kRan;
};

enum class Phase { kIdle, kModel, kTools, kFinishing, kFailing };

struct State {
  Conversation conversation;
  std::int64_t turns = 0;      // finished and running
  std::vector<Steered> queue;  // messages that start turns of their own, oldest first
  std::string transcript;      // hash of the conversation as a client of /v1 sees it (transcript.h)

  // Of the running turn:
  Phase phase = Phase::kIdle;
  TurnStarted start;
  std::string transcript_before;  // restored when the turn fails
  int iteration = 0;              // model calls answered so far
  int steps = 0;                  // the same since the last message of the person: what max_iterations bounds
  bool requested = false;         // a model call is under way
  std::vector<Call> batch;        // calls of the last answer
  bool offered = false;           // the client has been told of its calls in the batch
  std::vector<std::string> steering;   // messages that join before the next model call
  std::map<std::string, int> repeats;  // hash of call, arguments and result -> how often
  std::set<std::string> call_ids;      // of this turn
  bool final_answer = false;           // tools are off
  bool context_retry = false;          // the provider refused the prompt's length once
  llm::Usage usage;
  std::string reply;
  std::string visible;  // all the model has said since the person's last message, paragraphs between answers
  // `visible` and `transcript` as they were before the question that is shown now.
  std::optional<std::pair<std::string, std::string>> before_question;
  llm::FinishReason finish_reason = llm::FinishReason::kStop;
  std::string answered_by;  // model of the last answer
  std::optional<Error> error;
};

// --- Effects: what has to happen next.

struct CallModel {
  int iteration = 0;
};
struct PrepareCalls {
  std::vector<llm::ToolCall> calls;
};
struct RunCalls {
  std::vector<tools::PreparedCall> calls;  // in parallel
};
struct Ask {
  tools::PreparedCall call;
};
struct AwaitAnswer {
  std::string request_id;
};
struct AwaitClient {
  std::vector<llm::ToolCall> calls;
};
struct Compact {
  CompactionPlan plan;
};
struct Finish {};
struct Fail {
  Error error;
};

using Effect =
    std::variant<CallModel, PrepareCalls, RunCalls, Ask, AwaitAnswer, AwaitClient, Compact, Finish, Fail>;

struct Step {
  State state;
  std::vector<Effect> effects;
};

// The new state and everything that is to be done in it, in order. Effects that are under way are listed again (the runner knows
// what it has started); a started call without a result is not: `unfinished()` lists those. An input that does not fit the state is ignored:
// it can only come from a log written by another version.
Step advance(State state, Input input);

// What the state asks for, without an input: what is left to do when a log has been folded.
std::vector<Effect> effects(const State& state);

// Calls that were started and have no result.
std::vector<tools::PreparedCall> unfinished(const State& state);

// The question a person has to answer now, if any.
const Call* pending_approval(const State& state);

// Whether the turn waits for results of the client's tools.
bool awaits_client(const State& state);

std::string effect_name(const Effect& effect);

}  // namespace chela::agent::turn
