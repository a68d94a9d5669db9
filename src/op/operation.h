#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "op/principal.h"
#include "runtime/task.h"

namespace chela::op {

enum class Kind { kValue, kEvents, kBytes };
enum class Surface { kGateway, kBus };
enum class Idempotent { kNo, kYes };

// How errors look on a route: ours, or the one that clients of a compatible API read.
enum class Envelope { kChela, kOpenAi, kAnthropic };

struct Route {
  Surface surface = Surface::kGateway;
  std::string method;  // "POST"
  std::string path;  // "/api/jobs/{id}": a {name} takes one segment, a {name...} at the end all that is left
  Envelope envelope = Envelope::kChela;
  int status = 200;  // of a success
};

// One call, whatever it came in by.
struct CallContext {
  Principal principal;
  Scope scope;  // the principal's; the agent is filled in where one was chosen
  std::optional<SteadyTime> deadline = std::nullopt;
  std::stop_token stop = {};                                     // also requested when the caller goes away
  std::map<std::string, std::string, std::less<>> headers = {};  // lower-case names; empty off HTTP

  std::string worker = {};  // id of the worker of the bus that calls; "" for everybody else

  // What the surface adds to the headers of its answer or stream; null where there are none (bus, command line).
  std::shared_ptr<std::map<std::string, std::string, std::less<>>> reply_headers = {};

  std::string_view header(std::string_view name) const;  // "" when absent
  // Before the answer or the opening of the stream; later, or where there are no headers, it changes nothing.
  void set_reply_header(std::string name, std::string value) const {
    if (reply_headers) reply_headers->insert_or_assign(std::move(name), std::move(value));
  }
};

// A message of a stream: an SSE event over HTTP. `data` is sent as it is (JSON, or a marker like [DONE]).
struct Event {
  std::string name = {};
  std::string id = {};
  std::string data = {};
};

// The way out of a running events operation. Lives on the loop, owned by the surface for the time of the call.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // Commits to a stream: the caller sees its beginning now. The first emit() does it too. Errors after this go into the stream.
  virtual Result<> open() = 0;
  // Queues the event; kUnavailable when the caller is gone, kTooLarge when it does not keep up: end the call then.
  virtual Result<> emit(Event event) = 0;
  // Waits until what was emitted has left.
  virtual Task<Result<>> drained() = 0;
};

// The way out of a running bytes operation.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // Once, before write(). Without a size the body is chunked.
  virtual Result<> open(std::string content_type, std::optional<std::uint64_t> size) = 0;
  // Waits for room; kUnavailable when the caller is gone.
  virtual Task<Result<>> write(std::string bytes) = 0;
};

using ValueHandler = std::function<Task<Result<json::Value>>(CallContext, json::Value)>;
// A handler that opened no stream answers with its value, as one of kind value does ({"stream": false} of OpenAI's API); once a
// stream is open the value is dropped.
using EventsHandler = std::function<Task<Result<json::Value>>(CallContext, json::Value, EventSink&)>;
using BytesHandler = std::function<Task<Result<>>(CallContext, json::Value, ByteSink&)>;

// A capability, defined once: the HTTP route, the OpenAPI document, the bus function and the CLI command are made from it.
struct Operation {
  std::string id;                           // "chat::send"
  std::string help;                         // one sentence
  json::Value in = json::Value::object();   // JSON Schema of an object: path, query and body merged
  json::Value out = json::Value::object();  // JSON Schema of the value, or of one event's data
  std::string permission;                   // "chat:write"; "" is public
  Kind kind = Kind::kValue;
  std::vector<Route> routes;
  Idempotent idempotent = Idempotent::kNo;
  std::variant<ValueHandler, EventsHandler, BytesHandler> handler;  // of the kind
};

// What every surface does before it calls the handler: permission (kPermissionDenied), defaults, schema (kUnprocessable).
Result<json::Value> prepare(const Operation& operation, const Principal& principal, json::Value args);

}  // namespace chela::op
