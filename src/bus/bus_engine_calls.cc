#include "bus/baggage.h"
#include "bus/bus.h"
#include "obs/log.h"
#include "runtime/stop_scope.h"

namespace chela::bus {
namespace {

std::string metadata_text(const json::Value& metadata) {
  return metadata.is_null() ? std::string() : json::write(metadata);
}

constexpr std::string_view kNeverBegun = "never_begun";

// What a function of the engine failed with is no longer about the call itself.
void unmark(Error& error) {
  std::erase_if(error.context, [](const auto& each) { return each.first == kNeverBegun; });
}

}  // namespace

std::string condition_of(const BoundTrigger& trigger) {
  std::string id = trigger.config.string_or("condition_function_id");
  return id.empty() ? trigger.config.string_or("_condition_path") : id;
}

Error mark_never_begun(Error error) { return std::move(error).with(std::string(kNeverBegun), "yes"); }

bool never_begun(const Error& error) { return error.detail(kNeverBegun) == "yes"; }

bool Bus::knows(std::string_view function_id, const Viewer& viewer) const {
  return functions_.reaches(function_id, viewer);
}

Task<Result<json::Value>> Bus::call(op::CallContext context, std::string function_id, json::Value data) {
  return deliver(std::move(context), std::move(function_id), std::move(data), {}, {});
}

Task<Result<json::Value>> Bus::deliver(op::CallContext context, std::string function_id, Payload payload,
                                       std::string traceparent, std::string baggage) {
  if (!context.principal.allows(kCallPermission))
    co_return fail(Code::kPermissionDenied, "calling {} needs the permission {}", function_id,
                   kCallPermission);
  co_return co_await perform(told_call(std::move(context), std::move(function_id), std::move(payload),
                                       std::move(traceparent), std::move(baggage)));
}

Task<Result<json::Value>> Bus::call_permitted(op::CallContext context, std::string function_id,
                                              json::Value data) {
  return perform(told_call(std::move(context), std::move(function_id), std::move(data), {}, {}));
}

// Whose call it is its callee is told, also of the same user.
Bus::EngineCall Bus::told_call(op::CallContext context, std::string function_id, Payload payload,
                               std::string traceparent, std::string baggage) {
  EngineCall call{.context = std::move(context),
                  .function_id = std::move(function_id),
                  .payload = std::move(payload),
                  .traceparent = std::move(traceparent),
                  .baggage = std::move(baggage),
                  .told = std::nullopt};
  call.told = call.context.principal.scope(call.context.scope.agent);
  return call;
}

bool Bus::replaced(std::string_view function_id, const op::CallContext& context) const {
  return functions_.replaced(function_id, viewer_of(context.principal), context.worker);
}

Task<Result<json::Value>> Bus::call_replacement(op::CallContext context, std::string function_id,
                                                json::Value data) {
  EngineCall call{.context = std::move(context),
                  .function_id = std::move(function_id),
                  .payload = std::move(data),
                  .told = std::nullopt,
                  .of = EngineCall::Of::kReplacements};
  call.told = call.context.principal.scope(call.context.scope.agent);
  co_return co_await perform(std::move(call));
}

// How the call ends, or why it is not waited for any longer.
Task<CallEnd> Bus::end_of(runtime::Completion<CallEnd> done, std::stop_token stop, SteadyTime latest,
                          std::string what) {
  const runtime::StopScope scope(loop_, stop, latest);
  const std::stop_callback on_stop(scope.token(),
                                   [done, &scope, &what] { done.resolve(fail(scope.reason(what))); });
  co_return co_await done;
}

Task<Result<json::Value>> Bus::perform(EngineCall call) {
  Result<Payload> result = co_await carry_out(std::move(call));
  if (!result) co_return fail(result.error());
  co_return std::move(*result).take();
}

// A call that the engine makes, whoever provides the function.
Task<Result<Payload>> Bus::carry_out(EngineCall call) {
  const op::Principal& principal = call.context.principal;
  const Viewer viewer = viewer_of(principal);
  Functions::Target target = call.of == EngineCall::Of::kAnybody
                                 ? functions_.pick(call.function_id, viewer)
                                 : functions_.pick_replacement(call.function_id, viewer, call.context.worker);
  switch (target.reach) {
    case Functions::Reach::kNone:
      co_return fail(mark_never_begun(from_wire(write::error_json(no_such_function(call.function_id)))));
    case Functions::Reach::kBusy:
      co_return fail(mark_never_begun(from_wire(write::error_json(no_free_worker(call.function_id)))));
    case Functions::Reach::kLocal: {
      Result<json::Value> data = call.payload.value();
      if (!data) co_return fail(mark_never_begun(data.error()));
      if (call.counted) ++call.counted->calls_made;
      const std::uint64_t watched = began_here(call.function_id, principal, call.traceparent);
      Result<json::Value> value =
          co_await run(std::move(target.local), {.context = std::move(call.context),
                                                 .caller = nullptr,
                                                 .data = std::move(*data),
                                                 .traceparent = std::move(call.traceparent),
                                                 .baggage = std::move(call.baggage)});
      if (call.counted) --call.counted->calls_made;
      if (watched != 0) {
        const WireError error = value ? WireError() : to_wire(value.error());
        ended(watched, error.code, error.message);
      }
      if (!value) unmark(value.error());
      if (!value) co_return fail(value.error());
      co_return Payload(std::move(*value));
    }
    case Functions::Reach::kWorker:
      break;
  }
  const SteadyTime latest = loop_.clock().steady() + options_.call_timeout;
  const runtime::Completion<CallEnd> done(loop_);
  std::shared_ptr<const Rights> lent;
  if (target.worker->view.tenant != viewer.tenant) {
    lent = lend(call.rights ? *call.rights : Rights{.principal = principal}, target.worker->rights.principal);
    if (!call.told) call.told = principal.scope();
  }
  const std::string metadata = metadata_text(call.metadata);
  const std::string traceparent = write::quoted(call.traceparent);
  const std::string baggage = write::quoted(with_scope(call.baggage, std::nullopt));
  std::optional<Told> told;
  if (call.told) told = {.baggage = call.baggage, .scope = *call.told};
  const Result<> sent =
      invoke_worker({.callee = target.worker,
                     .function_id = call.function_id,
                     .deadline = latest,
                     .caller = call.counted,
                     .waiter = done,
                     .lent = std::move(lent)},
                    {.invocation_id = {},
                     .function_id = target.own_id.empty() ? call.function_id : target.own_id,
                     .data = call.payload.text(),
                     .caller_worker = {},
                     .trace = {traceparent, baggage},
                     .metadata = metadata},
                    std::move(told));
  if (!sent) co_return fail(mark_never_begun(sent.error()));
  const std::uint64_t number = calls_.last();
  CallEnd end =
      co_await end_of(done, call.context.stop, std::min(latest, call.context.deadline.value_or(latest)),
                      "the call of " + call.function_id);
  // Nobody waits any more: what its callee answers later is dropped.
  if (const std::optional<PendingCall> given_up = calls_.abandon(number); given_up && !end) {
    const WireError why = to_wire(end.error());
    ended(given_up->watched, why.code, why.message);
  }
  if (!end && never_begun(end.error()) && call.passed_on < kMaxPassedOn) {
    ++call.passed_on;
    co_return co_await carry_out(std::move(call));
  }
  if (!end) co_return fail(end.error());
  co_return Payload::of_text(end->empty() ? "null" : std::move(*end));
}

// --- triggers

Result<> Bus::may_fire(const BoundTrigger& trigger) const {
  if (stopping_ || trigger.ended.stop_requested())
    return fail(Code::kUnavailable, "the trigger {} has ended", trigger.id);
  if (!trigger.rights.live(loop_.clock().now()))
    return fail(Code::kPermissionDenied, "the token behind the trigger {} was revoked or has expired",
                trigger.id);
  if (!trigger.rights.principal.allows(kCallPermission))
    return fail(Code::kPermissionDenied, "the owner of the trigger {} lacks the permission {}", trigger.id,
                kCallPermission);
  if (trigger.owner->calls_made >= kMaxCallsMade)
    return fail(Code::kRateLimited, "{} calls of the owner of the trigger {} are unanswered", kMaxCallsMade,
                trigger.id);
  return {};
}

Bus::EngineCall Bus::call_of(const BoundTrigger& trigger, Payload payload, FireOptions options) const {
  const SteadyTime latest = loop_.clock().steady() + options_.call_timeout;
  const op::Principal& principal = trigger.rights.principal;
  return {.context = {.principal = principal,
                      .scope = principal.scope(),
                      .deadline = std::min(latest, options.deadline.value_or(latest)),
                      .stop = std::move(options.stop)},
          .function_id = trigger.function_id,
          .payload = std::move(payload),
          .metadata = trigger.metadata,
          .traceparent = std::move(options.traceparent),
          .baggage = std::move(options.baggage),
          .counted = trigger.owner,
          .rights = trigger.rights};
}

Task<Result<json::Value>> Bus::run_trigger(BoundTriggerPtr trigger, Payload payload, FireOptions options) {
  if (const Result<> may = may_fire(*trigger); !may) co_return fail(mark_never_begun(may.error()));
  co_return co_await perform(call_of(*trigger, std::move(payload), std::move(options)));
}

Task<Result<Payload>> Bus::ask_trigger(BoundTriggerPtr trigger, Payload payload, FireOptions options) {
  if (const Result<> may = may_fire(*trigger); !may) co_return fail(mark_never_begun(may.error()));
  co_return co_await carry_out(call_of(*trigger, std::move(payload), std::move(options)));
}

Task<Result<bool>> Bus::condition_met(BoundTriggerPtr trigger, Payload payload, FireOptions options) {
  const std::string condition = condition_of(*trigger);
  if (condition.empty()) co_return true;
  if (const Result<> may = may_fire(*trigger); !may) co_return fail(mark_never_begun(may.error()));
  if (const Result<> may = lets_call(*trigger->owner, condition); !may) co_return fail(may.error());
  EngineCall call = call_of(*trigger, std::move(payload), std::move(options));
  call.function_id = condition;
  const Result<json::Value> said = co_await perform(std::move(call));
  if (!said) co_return fail(said.error());
  co_return *said != json::Value(false);
}

void Bus::fire(const BoundTriggerPtr& trigger, const Payload& payload, std::string_view traceparent,
               std::string_view baggage) {
  if (condition_of(*trigger).empty()) return fire_now(trigger, payload, traceparent, baggage);
  // While the condition is asked the payload is held for the trigger's owner.
  if (trigger->owner->call_bytes + payload.text().size() > kMaxCallBytes) return events_lost_.add();
  tasks_.spawn(fire_on_condition(trigger, payload, std::string(traceparent), std::string(baggage)));
}

Task<> Bus::fire_on_condition(BoundTriggerPtr trigger, Payload payload, std::string traceparent,
                              std::string baggage) {
  const size_t bytes = payload.text().size();
  trigger->owner->call_bytes += bytes;
  const Result<bool> met = co_await condition_met(trigger, payload, {});
  trigger->owner->call_bytes -= bytes;
  if (met && *met) fire_now(trigger, payload, traceparent, baggage);
  if (met) co_return;
  events_lost_.add();
  log::debug("bus", "a trigger's condition failed",
             {{"trigger", trigger->id}, {"error", met.error().message}});
}

// In a turn of its own: a function of the engine may make what its own trigger waits for, over and over.
Task<> Bus::start_fired(std::shared_ptr<const LocalFunction> function, Payload payload, Asker asker) {
  ++asker.worker->calls_made;
  const runtime::Completion<bool> turn(loop_);
  loop_.post([turn] { turn.resolve(true); });
  co_await turn;
  --asker.worker->calls_made;
  start_local(std::move(function), payload.text(), &payload, std::move(asker));
}

void Bus::fire_now(const BoundTriggerPtr& trigger, const Payload& payload, std::string_view traceparent,
                   std::string_view baggage) {
  const WorkerPtr& owner = trigger->owner;
  const auto lost = [&](std::string_view why) {
    events_lost_.add();
    log::debug("bus", "a trigger could not be fired", {{"trigger", trigger->id}, {"error", why}});
  };
  // Not worth a message each: there may be thousands of them in a row.
  if (owner->calls_made >= kMaxCallsMade) return events_lost_.add();
  if (const Result<> may = may_fire(*trigger); !may) return lost(may.error().message);
  const size_t hops = hops_in(baggage) + 1;
  if (hops > kMaxFiredHops) return lost("triggers and functions of the engine go round in a circle");
  const std::string& id = trigger->function_id;
  Functions::Target target = functions_.pick(id, owner->view);
  switch (target.reach) {
    case Functions::Reach::kNone:
      return lost(no_such_function(id).message);
    case Functions::Reach::kBusy:
      return lost(no_free_worker(id).message);
    case Functions::Reach::kLocal: {
      if (owner->call_bytes + payload.text().size() > kMaxCallBytes)
        return lost("calls of its owner hold too much");
      return tasks_.spawn(start_fired(std::move(target.local), payload,
                                      {.worker = owner,
                                       .lent = std::shared_ptr<const Rights>(trigger, &trigger->rights),
                                       .traceparent = write::quoted(traceparent),
                                       .baggage = write::quoted(with_hops(baggage, hops)),
                                       .fired = true}));
    }
    case Functions::Reach::kWorker:
      break;
  }
  // Counted as a call that its owner made, without an id: nobody is told of its answer.
  PendingCall call{.callee = target.worker,
                   .function_id = id,
                   .deadline = loop_.clock().steady() + options_.call_timeout,
                   .caller = owner};
  std::optional<Told> told;
  if (target.worker->view.tenant != trigger->tenant) {
    call.lent = lend(trigger->rights, target.worker->rights.principal);
    told = {.baggage = baggage, .scope = trigger->rights.principal.scope()};
  }
  const std::string metadata = metadata_text(trigger->metadata);
  const std::string trace = write::quoted(traceparent);
  const std::string carried = write::quoted(with_scope(baggage, std::nullopt));
  const Result<> sent = invoke_worker(std::move(call),
                                      {.invocation_id = {},
                                       .function_id = target.own_id.empty() ? id : target.own_id,
                                       .data = payload.text(),
                                       .caller_worker = {},
                                       .trace = {trace, carried},
                                       .metadata = metadata},
                                      std::move(told));
  if (!sent) lost(sent.error().message);
}

}  // namespace chela::bus
