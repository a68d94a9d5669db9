#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

// A conversation in IronClaw's portable form (docs/contracts.md, "Traces"): what a person says, what the model answers, and what is
// expected of the engine in between. Plain data, read and written without I/O.
namespace chela::agent::traces {

// What is expected of a turn, or of the whole trace. What is not set is not asked.
struct Expects {
  std::vector<std::string> response_contains = {};      // in any case of letters
  std::vector<std::string> response_not_contains = {};  // in any case
  std::optional<std::string> response_matches = {};     // a regular expression
  std::vector<std::string> tools_used = {};
  std::vector<std::string> tools_not_used = {};
  std::optional<bool> all_tools_succeeded = {};  // false asks nothing
  std::optional<std::int64_t> max_tool_calls = {};
  std::optional<std::int64_t> min_responses = {};
  std::vector<std::pair<std::string, std::string>> tool_results_contain =
      {};  // tool and text, as the model reads it
  // Chela's own:
  std::vector<std::string> tools_failed = {};      // with an error as their result
  std::optional<std::string> state = {};           // how the turn ended, in history's words
  std::optional<std::string> error_contains = {};  // of a turn that failed
  std::optional<std::int64_t> model_calls = {};    // exactly so many
  std::vector<std::string> requests_contain = {};  // what the model was sent
  std::vector<std::string> requests_not_contain = {};

  bool empty() const { return *this == Expects{}; }
  bool operator==(const Expects&) const = default;
};

// What the request is thought to look like. Only noted when it does not.
struct Hint {
  std::optional<std::string> last_user_message_contains = {};
  std::optional<std::int64_t> min_message_count = {};

  bool operator==(const Hint&) const = default;
};

struct TracedCall {
  std::string id;
  std::string name;
  json::Value arguments;  // a text is what the model wrote where it wrote no JSON

  bool operator==(const TracedCall&) const = default;
};

struct ExpectedResult {
  std::string call_id;
  std::string name;
  std::string content;

  bool operator==(const ExpectedResult&) const = default;
};

// An answer of the model, or something that is said meanwhile.
struct TraceStep {
  // kUserInput: the person says `content` while the model is at work on the answer before it. kError: the provider fails.
  enum class Kind { kText, kToolCalls, kUserInput, kError } kind = Kind::kText;
  std::string content = {};  // text of the answer (also beside calls), of the person, or of the error
  std::vector<TracedCall> calls = {};
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::string finish_reason = {};  // "" = stop, or tool_calls
  std::string code = {};           // kError: docs/contracts.md's
  std::string reason = {};         // kError: "context_length" when the prompt is too long
  std::optional<std::int64_t> retry_after_ms = {};
  Hint hint = {};
  std::vector<ExpectedResult> expected_results = {};  // of the calls before it; only noted

  bool operator==(const TraceStep&) const = default;
};

struct TraceTurn {
  std::string user_input;
  std::vector<TraceStep> steps = {};
  Expects expects = {};

  bool operator==(const TraceTurn&) const = default;
};

struct TraceExchange {
  std::string method;
  std::string url;
  std::vector<std::pair<std::string, std::string>> request_headers = {};
  std::optional<std::string> request_body = {};
  int status = 0;
  std::vector<std::pair<std::string, std::string>> response_headers = {};
  std::string response_body = {};

  bool operator==(const TraceExchange&) const = default;
};

// A document of the memory, or a file of the workspace, that is there before the first turn.
struct TraceDocument {
  std::string path;
  std::string content;

  bool operator==(const TraceDocument&) const = default;
};

struct Trace {
  std::string model_name;
  std::vector<TraceDocument> memory = {};
  std::vector<TraceDocument> files = {};
  std::vector<std::pair<std::string, std::string>> settings = {};  // of the run: agent.*, limits.*, tools.*
  std::vector<TraceExchange> exchanges = {};
  std::vector<TraceTurn> turns = {};
  Expects expects = {};                    // of all turns together
  std::vector<std::string> left_out = {};  // what the conversation had and the trace has not, for people
  std::vector<std::string> notes = {};     // what the reader did not know; not written

  bool operator==(const Trace&) const = default;
};

// kInvalidArgument says where and what was expected; kTooLarge names the limit. A flat trace (`steps` at the top) is cut into turns at
// what the person says after a text; without any such step the first hint stands for it. Unknown members are skipped; an unknown
// expectation is noted, as nobody checks it.
Result<Trace> read_trace(std::string_view text);

json::Value to_json(const Trace& trace);
json::Value to_json(const Expects& expects);
// to_json() laid out for people: what fits is on one line.
std::string write_trace(const Trace& trace);
// Any value in that layout, with a newline at the end.
std::string layout(const json::Value& value);

// Adds a conversation behind another, in a thread of its own: its turns follow a `/new`. What both found there counts once, as the
// first has it.
void append(Trace& trace, Trace other);

using Mask = std::function<std::string(std::string_view)>;
// Every text of the value through `mask`, names of members included: it takes secrets out.
json::Value masked(json::Value value, const Mask& mask);

}  // namespace chela::agent::traces
