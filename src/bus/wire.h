#pragma once

#include <forward_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "base/text_parts.h"
#include "bus/wire_scan.h"

// The messages between workers and the bus: JSON objects with a "type", one a frame. Those that are read are views into the frame; those
// that are written are texts, with `data`, `result`, `config` and the like copied as the bytes they came as.
namespace chela::bus {

enum class FrameType {
  kUnknown,
  kReattach,
  kRegisterFunction,
  kUnregisterFunction,
  kRegisterService,
  kRegisterTriggerType,
  kUnregisterTriggerType,
  kRegisterTrigger,
  kUnregisterTrigger,
  kTriggerRegistrationResult,
  kInvokeFunction,
  kInvocationResult,
  kPing,
  kPong,
};

// A frame that was read. Valid as long as its text and until the scanner's next frame.
class Envelope {
 public:
  // kInvalidArgument, kTooLarge: see Scanner. A frame without a known type is no error.
  static Result<Envelope> read(Scanner& scanner, std::string_view text);

  FrameType type() const { return type_; }

  // The bytes of a member; nothing when it is absent or null.
  std::optional<std::string_view> raw(std::string_view key) const;
  // Also null counts as there.
  std::optional<std::string_view> raw_or_null(std::string_view key) const;
  // A text of at most `max` bytes; nothing when it is absent, null, no text or too long.
  std::optional<std::string_view> text(std::string_view key, size_t max);
  // An id: a text as base/ids.h wants foreign ids. kInvalidArgument names the member.
  Result<std::string_view> id(std::string_view key);

 private:
  std::span<const RawMember> members_;
  std::forward_list<std::string> unescaped_;  // texts that had escapes: few have
  FrameType type_ = FrameType::kUnknown;
};

// What an error looks like on the wire. `code` is iii's own where one exists, else one of docs/contracts.md.
struct WireError {
  std::string code;
  std::string message;
};
// An error keeps the code it has as context "bus_code".
WireError to_wire(const Error& error);
// The engine's error for one that a worker gave, a JSON value: kUpstream unless the code is one of ours. Its own code becomes "bus_code".
Error from_wire(std::string_view raw);

// Trace context as it came: JSON strings with their quotes, or "".
struct Trace {
  std::string_view traceparent;
  std::string_view baggage;
};

namespace write {

// A frame whose value is relayed as the bytes it came as, and is not copied: valid as long as they are.
struct Relay {
  std::string before;
  std::string_view value;
  std::string after;
  std::string cleaned;  // instead of the value, where it could not stay as it came

  TextParts parts() const {
    return {.before = before, .middle = cleaned.empty() ? value : std::string_view(cleaned), .after = after};
  }
};

struct Invoke {
  std::string_view invocation_id;
  std::string_view function_id;
  std::string_view data;           // a JSON value; "" is null
  std::string_view caller_worker;  // spliced into an object as _caller_worker_id; "" = not
  Trace trace = {};
  std::string_view metadata = {};  // a JSON value; "" = none
};
Relay invoke(const Invoke& message);

struct Outcome {
  std::string_view invocation_id;
  std::string_view function_id;
  std::string_view result = {};        // a JSON value; "" and null = none
  std::string_view error = {};         // a JSON value that stands for an error; "" = none
  const WireError* failure = nullptr;  // the same, made here
  Trace trace = {};
};
Relay result(const Outcome& message);

struct Trigger {
  std::string_view id;
  std::string_view type;
  std::string_view function_id;
  std::string_view config = {};    // a JSON value; "" is {}
  std::string_view metadata = {};  // a JSON value; "" = none
};
void worker_registered(std::string& out, std::string_view worker_id, std::string_view reattach_token);
void register_trigger(std::string& out, const Trigger& trigger);
void unregister_trigger(std::string& out, std::string_view id, std::string_view type);
// `error` is a JSON value or "".
void trigger_result(std::string& out, const Trigger& trigger, std::string_view error);
void registration_rejected(std::string& out, std::string_view function_id, std::string_view owner_worker);
void pong(std::string& out);
// The reason why a connection is not let in.
void error(std::string& out, const WireError& error);

// {"code","message"}
std::string error_json(const WireError& error);
// A text as JSON; "" stays "".
std::string quoted(std::string_view text);

}  // namespace write
}  // namespace chela::bus
