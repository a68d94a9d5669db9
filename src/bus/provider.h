#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "bus/functions.h"
#include "bus/worker.h"
#include "op/operation.h"
#include "runtime/task.h"

// What parts of the engine that have triggers and queues of their own share with the bus.
namespace chela::bus {

// What functions are called with: parsed for those of the engine, as text for workers. The other form is made when it is first asked for,
// once, however many are called; copies share both.
class Payload {
 public:
  Payload(json::Value value) : state_(std::make_shared<State>()) {
    state_->value = std::move(value);
  }  // a value is a payload
  // Valid JSON.
  static Payload of_text(std::string text) {
    Payload made;
    made.state_->text = std::move(text);
    return made;
  }

  // A copy. kInvalidArgument for a text that the scanner takes and a document does not hold: a lone surrogate, a number that is too large.
  Result<json::Value> value() const {
    if (!state_->value) {
      Result<json::Value> parsed = json::parse(state_->text);
      if (!parsed) return fail(Code::kInvalidArgument, "{}", parsed.error().message);
      state_->value = std::move(*parsed);
    }
    return *state_->value;
  }
  const std::string& text() const {
    if (state_->text.empty()) state_->text = json::write(*state_->value);
    return state_->text;
  }
  // The value, moved out of the last copy. kInvalidArgument for a text that is too much for a document.
  Result<json::Value> take() && {
    if (!state_->value) return json::parse(state_->text);
    return state_.use_count() == 1 ? std::move(*state_->value) : *state_->value;
  }

 private:
  struct State {
    std::optional<json::Value> value;
    std::string text;
  };
  Payload() : state_(std::make_shared<State>()) {}

  std::shared_ptr<State> state_;
};

// A trigger of a type of the engine's own, as its provider keeps it. Never changes, but for `ended`.
struct BoundTrigger {
  std::string key;  // unique on the bus: tenant and id
  std::string id;
  std::string type;
  std::string function_id;
  json::Value config;             // an object
  json::Value metadata;           // null when there is none
  std::string tenant;             // whose events it is about: tenant_of() of the principal
  Rights rights;                  // in whose name its function is called
  std::shared_ptr<Worker> owner;  // who registered it; a stand-in for one that outlives its connection
  std::stop_token ended;          // requested when it is released
};
using BoundTriggerPtr = std::shared_ptr<const BoundTrigger>;
// The function that its configuration names as condition_function_id or _condition_path; "" = none.
std::string condition_of(const BoundTrigger& trigger);

// Provides trigger types of the engine's own. Registered with Bus::add_trigger_type; must live until Bus::stop() is over. Loop thread only.
class TriggerProvider {
 public:
  virtual ~TriggerProvider() = default;
  // A trigger was registered. An error refuses it, and its owner is told the message. Must not call the bus back before it returns.
  virtual Result<> bind(BoundTriggerPtr trigger) = 0;
  // It was unregistered, replaced, or its owner has gone. Only for triggers that bind() took.
  virtual void release(const BoundTrigger& trigger) = 0;
};

// Whether a call failed before its function could begin: nobody provides it, all who do are overloaded, its frame could not be sent, or its
// worker had given the function up. Only the engine says so of an error.
bool never_begun(const Error& error);
Error mark_never_begun(Error error);

struct FireOptions {
  std::optional<SteadyTime> deadline = std::nullopt;  // the bus has one of its own as well
  std::stop_token stop = {};
  std::string traceparent = {};  // W3C, as plain text; "" = none
  std::string baggage = {};
};

// A call that is to be made later, from a queue.
struct EnqueueRequest {
  std::string queue;
  std::string function_id;
  json::Value data;
  std::string traceparent = {};
  std::string baggage = {};
};

// Takes calls with the action "enqueue". Set with Bus::set_enqueuer; must live until Bus::stop() is over. Loop thread only.
class Enqueuer {
 public:
  virtual ~Enqueuer() = default;
  // Gives the receipt's id once the message is as durable as its queue promises. An error reaches the caller as enqueue_error unless it
  // has a "bus_code" of its own. The call is later made in the context's name.
  virtual Task<Result<std::string>> enqueue(op::CallContext context, EnqueueRequest request) = 0;
};

// Makes the functions that are registered with an `invocation`: their calls go elsewhere than to the worker that registered them. Set with
// Bus::set_outside_functions; must live until Bus::stop() is over. Loop thread only.
class OutsideFunctions {
 public:
  virtual ~OutsideFunctions() = default;
  // An error refuses the registration. The function is called like one of the engine's own, by those who may call its worker's.
  virtual Result<LocalFunction> make(FunctionSpec spec, const json::Value& invocation,
                                     const Rights& owner) = 0;
};

}  // namespace chela::bus
