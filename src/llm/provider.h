#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "runtime/task.h"

namespace chela::llm {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text as the model wrote it; may be malformed

  bool operator==(const ToolCall&) const = default;
};

enum class Role { kSystem, kUser, kAssistant, kTool };
std::string_view role_name(Role role);
std::optional<Role> role_from_name(std::string_view name);

// An image that belongs to a message. What is hashed and kept names it by the hash of its bytes; they are there when a provider is called.
struct Image {
  std::string media_type;
  std::string hash;
  std::shared_ptr<const std::string> bytes = {};

  bool operator==(const Image& other) const { return media_type == other.media_type && hash == other.hash; }
};

struct Message {
  Role role = Role::kUser;
  std::string content;
  std::vector<ToolCall> tool_calls = {};  // of an assistant
  std::string tool_call_id = {};          // of a tool message
  std::string name = {};                  // the tool's name, for providers that want it
  std::vector<Image> images = {};         // of a user, after the text
  // Of an assistant that called tools: what the provider that said it wants back with it (signed thoughts), as JSON under the name of its
  // protocol. Opaque to everybody else.
  std::string provider_data = {};

  bool operator==(const Message&) const = default;
};

struct ToolSpec {
  std::string name;
  std::string description;
  json::Shared parameters;  // JSON Schema of an object

  bool operator==(const ToolSpec&) const = default;
};

enum class ToolChoice { kAuto, kNone, kRequired };

// How an answer is to be made. What is not set is left to the provider. The names are OpenAI's.
struct Sampling {
  std::optional<double> temperature = {};
  std::optional<double> top_p = {};
  std::optional<double> presence_penalty = {};
  std::optional<double> frequency_penalty = {};
  std::optional<std::int64_t> max_tokens = {};
  std::optional<std::int64_t> seed = {};
  std::vector<std::string> stop = {};
  std::optional<json::Value> response_format = {};
  std::string reasoning_effort = {};
  std::optional<bool> parallel_tool_calls = {};  // a request without tools does not carry it

  bool operator==(const Sampling&) const = default;
};

// On whose account a call is made. It is no part of what is asked: not of the request's JSON, nor of its hash.
struct Caller {
  Scope scope = {};
  std::string thread = {};
  std::string job = {};
  std::string channel = {};
  std::string key = {};  // id of the client's token, "" when none stands behind the call
  // What the budget has to say while the call goes on: an object with `message` and what it is about.
  std::function<void(const json::Value& warning)> warn = {};
  // Which model was chosen and why: an object with `provider`, `model` and `reason`, once for each choice that is not the plain one.
  std::function<void(const json::Value& choice)> chosen = {};
};

struct Request {
  std::string model;
  std::vector<Message> messages;
  std::vector<ToolSpec> tools = {};
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::string tool_choice_name = {};  // a tool that must be called; wins over tool_choice
  Sampling sampling = {};
  json::Object extra = {};  // unknown fields of a /v1 client, passed through unchanged
  Caller caller = {};
};

// The request as JSON: what its hash and a replay are taken from. Everything that changes the answer is in it.
json::Value to_json(const Request& request);
json::Value to_json(const Message& message);
Result<Message> message_from_json(const json::Value& value);
// Adds what is set, by OpenAI's names; sampling_from_json() reads it again, and leaves out what is of another type.
void add_to(json::Object& out, const Sampling& sampling);
Sampling sampling_from_json(const json::Value& value);

struct Usage {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cached_tokens = 0;  // part of input_tokens that the provider's cache served
  std::int64_t cache_write_tokens =
      0;  // part of input_tokens that it put into its cache, which some charge more for
};

enum class FinishReason { kStop, kLength, kToolCalls, kContentFilter, kUnknown };
std::string_view finish_reason_name(FinishReason reason);  // OpenAI's words
FinishReason finish_reason_from_name(std::string_view name);

struct Answer {
  std::string text;
  std::string reasoning;
  std::vector<ToolCall> tool_calls;
  Usage usage;
  FinishReason finish_reason = FinishReason::kUnknown;
  std::string model;               // the one that answered
  std::string provider = {};       // id of the one whose model that is, "" when only one can be meant
  std::string provider_data = {};  // see Message
};

// A piece of a running answer. Text is valid UTF-8 and never cuts a character.
struct Delta {
  std::string text;
  std::string reasoning;
  bool reset = false;  // what was passed on of this answer is void, the answer begins anew with this piece
};
using DeltaSink = std::function<void(const Delta&)>;

// A model behind a protocol. Errors: kInvalidArgument (the provider's 400; detail "reason" = "context_length" when the prompt is too
// long), kUnauthenticated / kPermissionDenied, kNotFound (model), kRateLimited (with retry_after), kUpstream (5xx, cut or garbage),
// kUnavailable (unreachable), kTimeout (stall or deadline), kCancelled. Detail "status" holds the HTTP status where there was one,
// "streamed" = "1" when deltas had been passed on before the failure (then nobody retries).
// Lives on the loop; owned by app/; outlives its calls.
class Provider {
 public:
  virtual ~Provider() = default;

  // The one method. Calls `sink` on the loop as text arrives, and returns the whole answer. The sink is not called after return.
  virtual Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                        std::stop_token stop) = 0;

  // Models that the provider offers, for /v1/models.
  virtual Task<Result<std::vector<std::string>>> models(std::stop_token stop) = 0;
};

}  // namespace chela::llm
