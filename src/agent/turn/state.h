#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/dialects/outcome.h"
#include "agent/turn/conversation.h"
#include "agent/turn/decision.h"
#include "agent/turn/prefix.h"
#include "base/error.h"
#include "llm/models.h"
#include "llm/provider.h"
#include "op/principal.h"
#include "tools/call.h"

// A turn as a pure state machine over its log. advance() does no I/O and reads no clock: everything it knows came in as an input, and each
// input is a record of the log. Folding a thread's records therefore gives the state the engine had, after a crash or in a replay.
namespace chela::agent::turn {

// --- Inputs. Each is one record kind of docs/contracts.md.

// A file that came with a message. It is saved in the workspace; what is shown of it is in the message's content, or its image.
struct Attachment {
  std::string name;
  std::string media_type;
  std::int64_t size = 0;
  std::string path;  // in the workspace
  enum class Kind { kFile, kText, kImage } kind = Kind::kFile;
  std::string hash = {};  // blob, of texts and images
};
std::string_view attachment_kind_name(Attachment::Kind kind);

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
  op::Permissions permissions = {};         // of whoever started it
  std::set<std::string> client_tools = {};  // names that the client runs
  std::vector<llm::Message> history = {};   // of a thread that begins with a client's conversation
  std::string channel;
  int max_iterations = 0;
  std::int64_t context_tokens = 0;
  std::int64_t prompt_tokens = 0;  // about what system prompt and tools take of them
  llm::Sampling sampling = {};
  // kNone holds for the whole turn; a call that is asked for (kRequired, or a name) for its first model call.
  llm::ToolChoice tool_choice = llm::ToolChoice::kAuto;
  std::string tool_choice_name = {};
  UnixMs at = 0;
  std::vector<Attachment> attachments = {};
  bool sees_images = false;             // the model; images are then part of the message
  std::string client_system_hash = {};  // blob: the client's part of the system prompt
  llm::ToolCalling tool_calling = llm::ToolCalling::kNative;  // of all its model calls
  std::string client_key = {};                                // id of the token of whoever started it
};

struct ModelRequested {
  int iteration = 0;
  std::string hash;  // of the canonical JSON of the request
  PrefixNote prefix = {};
};

struct ModelAnswered {
  llm::Answer answer;
  // What the text held that was meant as a call and is none.
  dialects::Refused refused = dialects::Refused::kNothing;
  json::Array choices = {};  // of the model, and why, as llm::Caller::chosen has told them
};
std::string_view refused_name(dialects::Refused refused);  // "nothing", "unreadable", "cut"

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
  std::string message_id = {};  // of the client's message that brought the result
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
  std::string message_id = {};
};

// What a client wants of the turn that its message starts.
struct Terms {
  llm::Sampling sampling = {};
  llm::ToolChoice tool_choice = llm::ToolChoice::kAuto;
  std::string tool_choice_name = {};
  std::vector<llm::ToolSpec> tools = {};  // the client's own
  std::string system = {};                // its system text

  bool operator==(const Terms&) const = default;
};

struct Steered {
  std::string message_id;
  std::string input;
  std::string next_turn =
      {};  // the turn this message will start after the running one; "" = it joins the running one
  enum class With { kNothing, kResults } with = With::kNothing;  // what the client sent it with
  Terms terms = {};                                              // of the next turn
  std::string content = {};  // what the model sees of one that joins, when that is more than the input
  std::vector<Attachment> attachments = {};
  op::Permissions permissions = {};  // of whoever said it
  std::string client_key = {};       // id of their token
};

struct Compacted {
  CompactionPlan plan;
  bool refused_length = false;           // the provider had refused the prompt as too long
  std::optional<llm::Usage> usage = {};  // of the model call that wrote the summary
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

// The last turn is taken back. It stays in the log, and comes back with Redone until something new is said.
struct Undone {
  std::string turn;
  std::int64_t number = 0;
};

struct Redone {
  std::string turn;
  std::int64_t number = 0;
};

// The thread begins anew; what was said stays in the log.
struct Cleared {
  std::int64_t turns = 0;  // that were visible
};

// A tool needs a credential that only the person has. Its value is in no record.
struct CredentialAsked {
  std::string request_id;
  std::string call_id;
  std::string name;  // in the vault
  std::string instructions;
  std::string auth_url = {};
  std::string setup_url = {};
  UnixMs expires_at = 0;
  tools::Replacing replacing = tools::Replacing::kNothing;
};

enum class CredentialEnd { kStored, kCancelled, kExpired };
std::string_view credential_end_name(CredentialEnd end);  // "stored", "cancelled", "expired"

struct CredentialAnswered {
  std::string request_id;
  std::string name;
  CredentialEnd end = CredentialEnd::kCancelled;
};

using Input = std::variant<TurnStarted, ModelRequested, ModelAnswered, ToolRequested, ToolStarted,
                           ToolFinished, Asked, Answered, Steered, Compacted, Interrupted, TurnFinished,
                           TurnFailed, Forked, Undone, Redone, Cleared, CredentialAsked, CredentialAnswered>;

// --- State

enum class CallStatus {
  kRequested,      // named by the model
  kRunnable,       // prepared and allowed
  kStarted,        // running, or running when the engine stopped
  kNeedsApproval,  // prepared, to be asked
  kAsked,
  kNeedsCredential,  // it has run so far, and waits for the person
  kWithClient,       // the client runs it
  kDone,
};

struct Call {
  llm::ToolCall request;
  CallStatus status = CallStatus::kRequested;
  tools::PreparedCall prepared;
  std::string request_id;           // of the approval
  CredentialAsked credential = {};  // what it waits for
  tools::FinishedCall result;
  Ending ending = Ending::kRan;
};

// A turn that can be taken back.
struct Checkpoint {
  std::string turn;
  std::int64_t number = 0;
  std::string input;  // all the person has said in it
  std::vector<Attachment> attachments = {};
  std::string transcript;  // before it
};

struct UndoneTurn {
  Checkpoint checkpoint;
  Conversation::Turn messages;
  std::string transcript;  // after it
};

enum class Phase { kIdle, kModel, kTools, kFinishing, kFailing };

struct State {
  Conversation conversation;
  std::int64_t turns = 0;      // finished and running, those undone not counted
  std::vector<Steered> queue;  // messages that start turns of their own, oldest first
  std::string transcript;      // hash of the conversation as a client of /v1 sees it (transcript.h)

  std::vector<Checkpoint> undo;  // oldest first, at most kMaxUndo
  std::vector<UndoneTurn> redo;  // the next to come back last

  // Of the running turn:
  Phase phase = Phase::kIdle;
  TurnStarted start;
  std::string transcript_before;  // restored when the turn fails
  int iteration = 0;              // model calls answered so far
  int steps = 0;                  // the same since the last message of the person: what max_iterations bounds
  bool requested = false;         // a model call is under way
  // Of all whose words the turn follows: what one of them may not do, it does not do. Without repetitions.
  std::vector<op::Permissions> permissions;
  std::vector<Call> batch;             // calls of the last answer
  bool offered = false;                // the client has been told of its calls in the batch
  std::vector<llm::Message> steering;  // messages that join before the next model call
  std::map<std::string, int> repeats;  // hash of call, arguments and result -> how often
  std::set<std::string> call_ids;      // of this turn
  bool final_answer = false;           // tools are off
  int refusals = 0;                    // answers whose calls were refused
  bool context_retry = false;          // the provider refused the prompt's length once
  llm::Usage usage;
  std::string reply;
  std::string visible;  // all the model has said since the person's last message, paragraphs between answers
  // `visible` and `transcript` as they were before the questions that are shown now.
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
struct AwaitCredential {
  std::string request_id;
  UnixMs expires_at = 0;
};
struct Compact {
  CompactionPlan plan;
};
struct Finish {};
struct Fail {
  Error error;
};

using Effect = std::variant<CallModel, PrepareCalls, RunCalls, Ask, AwaitAnswer, AwaitClient, Compact, Finish,
                            Fail, AwaitCredential>;

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

// The credential that a person is asked for, the oldest if there are several.
const CredentialAsked* pending_credential(const State& state);
// Whether the answer to come may have no calls: a request that says so may still get some.
bool tools_are_off(const State& state);

// Id of the message from outside that an input came with, "" for all others.
std::string message_of(const Input& input);

// Whether the turn waits for results of the client's tools.
bool awaits_client(const State& state);

std::string effect_name(const Effect& effect);

}  // namespace chela::agent::turn
