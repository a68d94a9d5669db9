#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bus/calls.h"
#include "bus/functions.h"
#include "bus/limits.h"
#include "bus/link.h"
#include "bus/observer.h"
#include "bus/provider.h"
#include "bus/triggers.h"
#include "bus/wire.h"
#include "obs/metrics.h"
#include "runtime/event_loop.h"
#include "runtime/id_source.h"
#include "runtime/task_group.h"

namespace chela::bus {

struct BusParts {
  runtime::EventLoop& loop;
  runtime::IdSource& ids;
  obs::Metrics& metrics;
};

struct BusOptions {
  std::chrono::milliseconds
      call_timeout;  // after it a call counts as unanswered, whatever its caller still waits for
};

// Routes calls between workers, and between workers and the engine. Speaks iii's protocol over Links; what listens is bus/server.h.
// Loop thread only. Its owner awaits stop() before it goes.
class Bus {
 public:
  Bus(BusParts parts, BusOptions options);
  ~Bus();
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  // --- connections

  // Greets a new worker. The link must live until disconnect().
  // A session's rules hold for all that the connection does.
  WorkerPtr connect(Link& link, Rights rights, std::string address, SessionPtr session = nullptr);
  // One frame of the worker. Gives the worker that must read before this one should be listened to again; mostly null.
  WorkerPtr receive(const WorkerPtr& worker, std::string_view frame);
  // Holds a caller back until `slow` has read, for kSlowWorkerWait at most.
  Task<> wait_for(WorkerPtr slow, std::stop_token stop);
  // Waits until the functions that decide about the worker's registrations have: what it says later builds on them.
  Task<> settled(WorkerPtr worker);
  // Clears away all that the worker had; calls it served fail, its triggers end. Once or more.
  void disconnect(const WorkerPtr& worker);

  // --- inside the engine

  // kConflict when the id is taken.
  Result<> add(LocalFunction function);
  // Calls a function for the context's principal; the value is null when the function gives none. Errors of the function keep their
  // message and have their wire code as context "bus_code".
  Task<Result<json::Value>> call(op::CallContext context, std::string function_id, json::Value data);
  // The same for a principal that may make this very call by another permission than bus:call: that of a tool, say.
  Task<Result<json::Value>> call_permitted(op::CallContext context, std::string function_id,
                                           json::Value data);
  // Whether a worker stands in for the function for calls in the context's name, and a call of it: for those of the engine's functions
  // that workers may replace, and for what the engine asks workers for while there is one ("memory::recall"). Needs no permission.
  bool replaced(std::string_view function_id, const op::CallContext& context) const;
  Task<Result<json::Value>> call_replacement(op::CallContext context, std::string function_id,
                                             json::Value data);
  // Whether a call of the viewer would find a provider, busy or not.
  bool knows(std::string_view function_id, const Viewer& viewer) const;
  // Whether the rules of the worker's listener let it call the function, or have it called. kPermissionDenied says why not.
  Result<> lets_call(const Worker& worker, std::string_view function_id) const;

  // --- triggers and queues of the engine's own

  // From now on triggers of the type are bound to the provider. Once per name of the type. kConflict when the id is taken.
  Result<> add_trigger_type(TriggerType type, TriggerProvider& provider);
  // Calls the trigger's function in its owner's name, with its metadata, and waits for the result; conditions are not looked at. The value
  // is null when the function gives none. kUnavailable once the trigger has ended, kPermissionDenied when its owner's token has,
  // kRateLimited when too many calls of its owner are unanswered; else the function's error, as from call().
  Task<Result<json::Value>> run_trigger(BoundTriggerPtr trigger, Payload payload, FireOptions options);
  // The same, and the result as it came: a worker's as text.
  Task<Result<Payload>> ask_trigger(BoundTriggerPtr trigger, Payload payload, FireOptions options);
  // What the function says that the configuration names as condition_function_id or _condition_path: only false means no. True without one.
  Task<Result<bool>> condition_met(BoundTriggerPtr trigger, Payload payload, FireOptions options = {});
  // Calls the function if the condition is met, and waits for nothing. What cannot be called is counted. The trace is plain text.
  void fire(const BoundTriggerPtr& trigger, const Payload& payload, std::string_view traceparent = {},
            std::string_view baggage = {});
  // As call(), for a message of a queue: the trace context it came with goes along, as plain text.
  Task<Result<json::Value>> deliver(op::CallContext context, std::string function_id, Payload payload,
                                    std::string traceparent, std::string baggage);
  // Called, from the loop, whenever functions have come or gone; must not call the bus back. Must live until stop() is over.
  void watch_functions(std::function<void()> watcher) { function_watchers_.push_back(std::move(watcher)); }
  // Until end_standing(), or the bus stops. kPermissionDenied, kInvalidArgument, and why its provider refuses it.
  Result<> add_standing(StandingTrigger trigger);
  bool has_standing(std::string_view tenant, std::string_view id);
  bool end_standing(std::string_view tenant, std::string_view id);
  void set_enqueuer(Enqueuer& enqueuer) { enqueuer_ = &enqueuer; }
  void set_outside_functions(OutsideFunctions& outside) { outside_ = &outside; }
  void set_observer(Observer& observer) { observer_ = &observer; }
  const Observer* observer() const { return observer_; }
  // A frame of measurements that came for the tenant; dropped when nobody watches.
  void measured(std::string_view tenant, std::string_view frame) {
    if (observer_ != nullptr) observer_->measured(tenant, frame);
  }

  const Functions& functions() const { return functions_; }
  const Triggers& triggers() const { return triggers_; }
  const std::map<std::string, WorkerPtr, std::less<>>& workers() const { return workers_; }
  size_t open_calls() const { return calls_.size(); }
  // How much is in each table: when all workers have gone and the engine's own functions are done, what was there before them.
  std::vector<std::pair<std::string_view, size_t>> tables() const;
  const runtime::Clock& clock() const { return loop_.clock(); }

  // What a worker said of itself; tells those who watch the workers.
  void announce(Worker& worker, WorkerInfo info);

  // Closes every connection and waits for the functions of the engine that still run.
  Task<> stop();

 private:
  // Who wants the answer to a call that came in a frame.
  struct Asker {
    WorkerPtr worker;
    std::string id = {};                      // "" for a void call
    std::shared_ptr<const Rights> lent = {};  // null: the worker's own rights
    std::string function_id = {};
    std::string traceparent = {};
    std::string baggage = {};
    bool fired = false;  // a trigger of the worker's made the call, not the worker
    std::uint64_t watched = 0;

    const Rights& rights() const { return lent ? *lent : worker->rights; }
  };
  // What the baggage of a call says to its callee: whose it is, beside what was in it.
  struct Told {
    std::string_view baggage;
    Scope scope;
  };

  void handle(const WorkerPtr& worker, Envelope& frame);
  void send(Worker& worker, const TextParts& frame);
  void send(Worker& worker, std::string_view frame) { send(worker, TextParts{.before = frame}); }
  void bad_frame(Worker& worker, const Error& error);

  // bus_calls.cc
  Result<> invoke(const WorkerPtr& worker, Envelope& frame);
  std::shared_ptr<const Rights> rights_of(const WorkerPtr& worker, const Scope& named,
                                          std::string_view call) const;
  void invoke_function(Asker asker, Envelope& frame);
  void enqueue(Asker asker, Envelope& frame, std::string queue);
  void call_local(std::shared_ptr<const LocalFunction> function, std::string_view data, Asker asker);
  // `payload` is what `data` is the text of, or null.
  void start_local(std::shared_ptr<const LocalFunction> function, std::string_view data,
                   const Payload* payload, Asker asker);
  Task<> run_local(std::shared_ptr<const LocalFunction> function, LocalCall call, size_t bytes, Asker asker);
  Task<> run_text(std::shared_ptr<const LocalFunction> function, TextCall call, size_t bytes, Asker asker);
  void end_local(const Asker& asker, size_t bytes, const Result<std::string>& value);
  // Gives why the frame could not be sent.
  Result<> invoke_worker(PendingCall call, write::Invoke message, std::optional<Told> told = std::nullopt);
  // What a worker said to a call that it was sent; the texts are parts of its frame.
  struct WorkerReply {
    WorkerPtr worker;
    PendingCall call;
    std::string_view value;
    std::string_view error;
    std::string_view traceparent;
    std::string_view baggage;
    bool refused = false;  // it knows no such function
  };
  Result<> answered(const WorkerPtr& worker, Envelope& frame);
  Task<> settle_in_a_moment(WorkerReply reply, std::string error);
  void settle(WorkerReply reply);
  bool pass_on(PendingCall& call);
  void answer(const Asker& asker, const WireError& error);
  void end_call(const PendingCall& call, const WireError& error);
  void watch_timeouts();
  // Tells the observer of a call in the engine; the call's trace goes on from there.
  std::uint64_t began_here(std::string_view id, const op::Principal& principal, std::string& traceparent);
  void ended(std::uint64_t watched, std::string_view code, std::string_view message);

  // bus_engine_calls.cc
  struct EngineCall {
    op::CallContext context;
    std::string function_id;
    Payload payload;
    json::Value metadata = {};
    std::string traceparent = {};
    std::string baggage = {};
    std::optional<Scope> told = std::nullopt;     // to a callee of the same user too
    WorkerPtr counted = {};                       // as a call of whose
    std::optional<Rights> rights = std::nullopt;  // that may be lent; nothing: the context's, for the call
    enum class Of { kAnybody, kReplacements } of = Of::kAnybody;
    int passed_on = 0;
  };
  Task<Result<json::Value>> perform(EngineCall call);
  Task<Result<Payload>> carry_out(EngineCall call);
  Task<CallEnd> end_of(runtime::Completion<CallEnd> done, std::stop_token stop, SteadyTime latest,
                       std::string what);
  static EngineCall told_call(op::CallContext context, std::string function_id, Payload payload,
                              std::string traceparent, std::string baggage);
  Result<> may_fire(const BoundTrigger& trigger) const;
  EngineCall call_of(const BoundTrigger& trigger, Payload payload, FireOptions options) const;
  Task<> start_fired(std::shared_ptr<const LocalFunction> function, Payload payload, Asker asker);
  Task<> fire_on_condition(BoundTriggerPtr trigger, Payload payload, std::string traceparent,
                           std::string baggage);
  void fire_now(const BoundTriggerPtr& trigger, const Payload& payload, std::string_view traceparent,
                std::string_view baggage);

  // bus_sessions.cc
  void intercept(Asker asker, Envelope& frame, json::Value action);
  Task<Result<json::Value>> ask_host(SessionPtr session, std::string function_id, json::Value question,
                                     LocalCall call);
  Task<Result<json::Value>> decide(SessionPtr session, std::string function_id, json::Value question);
  Task<> decide_function(WorkerPtr worker, FunctionSpec spec);
  Task<> decide_trigger_type(WorkerPtr worker, TriggerType type);
  Task<> decide_trigger(Trigger trigger);
  void start_deciding(const WorkerPtr& worker, Task<> task);
  Task<> run_decision(WorkerPtr worker, Task<> task);

  // bus_registrations.cc
  Result<> add_function(const WorkerPtr& worker, FunctionSpec spec);
  Result<> add_worker_type(const WorkerPtr& worker, TriggerType type);
  void add_trigger(Trigger trigger);
  Result<> lets_fire(const Worker& worker, const Trigger& trigger) const;
  Result<> register_function(const WorkerPtr& worker, Envelope& frame);
  Result<> make_outside(const Worker& worker, FunctionSpec& spec, std::string_view invocation) const;
  Result<> unregister_function(Worker& worker, Envelope& frame);
  Result<> register_trigger_type(const WorkerPtr& worker, Envelope& frame);
  Result<> unregister_trigger_type(const WorkerPtr& worker, Envelope& frame);
  Result<> register_trigger(const WorkerPtr& worker, Envelope& frame);
  Result<> unregister_trigger(const WorkerPtr& worker, Envelope& frame);
  Result<> trigger_answered(const WorkerPtr& worker, Envelope& frame);
  Result<> reattach(const WorkerPtr& worker, Envelope& frame);
  const WorkerPtr& stand_in(const Rights& rights);
  Result<> bind(Trigger& trigger);
  Result<> bind_here(Trigger& trigger, TriggerProvider* provider);
  void bind_or_tell(Trigger& trigger);
  void tell_waiting(const Trigger& trigger);
  void tell_waiting(const Worker& owner);
  void tell_refusal(const Trigger& trigger, std::string_view why);
  void offer_waiting(std::string_view type);
  void release(std::string_view type, const WorkerPtr& provider);
  void end_trigger(Trigger& trigger);

  // bus_events.cc
  struct WorkerEvent {
    std::string event;
    std::string worker = {};  // its id; "" for one that stands for many
    Viewer view = {};         // the worker's
  };
  void tell_later();
  void tell_events();
  void fire_all(std::string_view type, const std::function<json::Value(const Worker&)>& payload);
  void functions_changed();
  void worker_event(std::string_view event, const Worker& worker);

  runtime::EventLoop& loop_;
  runtime::IdSource& ids_;
  const BusOptions options_;
  Scanner scanner_;
  Functions functions_;
  Triggers triggers_;
  Calls calls_;
  std::map<std::string, WorkerPtr, std::less<>> workers_;
  NoLink no_link_;
  std::map<std::string, WorkerPtr, std::less<>> stand_ins_;  // owners of standing triggers, by tenant
  size_t held_refusals_ = 0;
  runtime::TaskGroup tasks_;
  std::optional<runtime::TimerId> timeout_timer_;
  std::optional<runtime::TimerId> events_timer_;
  std::vector<WorkerEvent> worker_events_;  // to be told
  bool functions_changed_ = false;          // the same
  std::uint64_t connections_ = 0;
  Enqueuer* enqueuer_ = nullptr;
  OutsideFunctions* outside_ = nullptr;
  Observer* observer_ = nullptr;
  std::vector<std::function<void()>> function_watchers_;
  WorkerPtr congested_;  // set while a frame is handled
  bool stopping_ = false;

  obs::Gauge& workers_gauge_;
  obs::Counter& frames_;
  obs::Counter& bad_frames_;
  obs::Counter& calls_ok_;
  obs::Counter& calls_failed_;
  obs::Counter& calls_lost_;
  obs::Counter& events_lost_;
};

}  // namespace chela::bus
