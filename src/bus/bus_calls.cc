#include "base/utf8.h"
#include "bus/baggage.h"
#include "bus/bus.h"
#include "obs/log.h"
#include "runtime/sleep.h"
#include "runtime/stop_scope.h"

namespace chela::bus {
namespace {

// What every connection may call, so that it can say who it is.
constexpr std::string_view kIntroduction = "engine::workers::register";

// A JSON text of the trace context, quotes included, or "".
std::string_view trace_text(const Envelope& frame, std::string_view key) {
  const std::optional<std::string_view> value = frame.raw(key);
  return value && value->front() == '"' && value->size() <= kMaxTraceBytes ? *value : std::string_view();
}

// Such a JSON text as plain text.
std::string unquoted(std::string_view text) {
  if (text.empty()) return {};
  const Result<json::Value> value = json::parse(text);
  const std::string* plain = value ? value->as_string() : nullptr;
  return plain == nullptr ? "" : *plain;
}

// Whether a worker answers a call by saying that it has no such function.
bool is_refusal(std::string_view error) {
  if (error.empty()) return false;
  const Result<json::Value> said = json::parse(error);
  return said && said->string_or("code") == "function_not_found";
}

Task<Result<json::Value>> put_into_queue(Enqueuer& enqueuer, std::string queue, std::string function_id,
                                         LocalCall call) {
  Result<std::string> receipt =
      co_await enqueuer.enqueue(std::move(call.context), {.queue = std::move(queue),
                                                          .function_id = std::move(function_id),
                                                          .data = std::move(call.data),
                                                          .traceparent = std::move(call.traceparent),
                                                          .baggage = std::move(call.baggage)});
  if (receipt) co_return json::Value::object({{"messageReceiptId", std::move(*receipt)}});
  Error error = std::move(receipt.error());
  if (error.detail("bus_code").empty()) error.with("bus_code", "enqueue_error");
  co_return fail(std::move(error));
}

}  // namespace

Result<> Bus::invoke(const WorkerPtr& worker, Envelope& frame) {
  const Result<std::string_view> function_id = frame.id("function_id");
  if (!function_id) return fail(function_id.error());
  Asker asker{.worker = worker,
              .id = std::string(frame.text("invocation_id", kMaxIdBytes).value_or("")),
              .function_id = std::string(*function_id),
              .traceparent = std::string(trace_text(frame, "traceparent")),
              .baggage = std::string(trace_text(frame, "baggage"))};
  // What a worker says about whose call it is holds if the engine knows it, and goes no further otherwise.
  const std::string_view named = frame.text("baggage", kMaxTraceBytes).value_or("");
  if (const std::optional<Scope> scope = scope_in(named)) {
    asker.lent = rights_of(worker, *scope, call_in(named).value_or(""));
    asker.baggage = write::quoted(with_scope(named, asker.lent ? scope : std::nullopt));
  }
  if (!asker.rights().live(loop_.clock().now())) {
    answer(asker, {.code = "FORBIDDEN", .message = "the token of this call was revoked or has expired"});
    return {};
  }
  json::Value action;
  if (const std::optional<std::string_view> raw = frame.raw("action")) {
    if (Result<json::Value> parsed = json::parse(*raw); parsed) action = std::move(*parsed);
    const std::string type = action.string_or("type");
    if (type != "void" && type != "enqueue")
      return fail(Code::kInvalidArgument, "an action must be void or enqueue");
    if (type == "void") asker.id.clear();
  }
  if (const Result<> may = lets_call(*worker, asker.function_id); !may) {
    answer(asker, to_wire(may.error()));
  } else if (worker->session && !worker->session->deciders.middleware.empty() &&
             !asker.function_id.starts_with("engine::")) {
    intercept(std::move(asker), frame, std::move(action));
  } else if (action.string_or("type") == "enqueue") {
    enqueue(std::move(asker), frame, action.string_or("queue"));
  } else {
    invoke_function(std::move(asker), frame);
  }
  return {};
}

// In whose name a worker makes a call in a scope it names: that of the call which it names too and serves just now, with what that call
// lent it, or what it may delegate. Null when the scope is the worker's own, or does not hold.
std::shared_ptr<const Rights> Bus::rights_of(const WorkerPtr& worker, const Scope& named,
                                             std::string_view call) const {
  Rights claimed = worker->rights;
  claimed.principal.realm = named.realm;
  claimed.principal.user = named.user;
  const std::string tenant = viewer_of(claimed.principal).tenant;
  if (tenant == worker->view.tenant) return nullptr;
  if (const auto serving = worker->serving.find(call);
      serving != worker->serving.end() && viewer_of(serving->second->principal).tenant == tenant)
    return serving->second;
  if (!worker->rights.principal.allows(kDelegatePermission)) return nullptr;
  return std::make_shared<const Rights>(std::move(claimed));
}

// Runs as a function of the engine does, so that it counts as one.
void Bus::enqueue(Asker asker, Envelope& frame, std::string queue) {
  const auto refuse = [&](std::string_view code, std::string message) {
    answer(asker, {.code = std::string(code), .message = std::move(message)});
  };
  if (!asker.rights().principal.allows(kCallPermission))
    return refuse("FORBIDDEN", fmt::format("enqueueing a call of {} needs the permission {}",
                                           asker.function_id, kCallPermission));
  if (only_lent(*asker.worker, asker.rights().principal))
    return refuse(
        "FORBIDDEN",
        fmt::format("the rights of {} are lent for the call that is served; enqueueing {} in its name "
                    "needs the permission {}",
                    asker.rights().principal.user, asker.function_id, kDelegatePermission));
  if (enqueuer_ == nullptr)
    return refuse("enqueue_error", "this engine has no queues; its configuration needs the queue module");
  if (queue.empty() || queue.size() > kMaxIdBytes)
    return refuse("enqueue_error",
                  fmt::format("the action must name a queue with 1 to {} bytes", kMaxIdBytes));
  if (asker.worker->calls_made >= kMaxCallsMade)
    return refuse("rate_limited", fmt::format("{} calls of this connection are unanswered", kMaxCallsMade));
  auto task = std::make_shared<LocalFunction>();
  task->handler = [enqueuer = enqueuer_, queue = std::move(queue), id = asker.function_id](LocalCall call) {
    return put_into_queue(*enqueuer, queue, id, std::move(call));
  };
  const std::string_view data = frame.raw_or_null("data").value_or("null");
  call_local(std::move(task), data, std::move(asker));
}

void Bus::invoke_function(Asker asker, Envelope& frame) {
  Worker& caller = *asker.worker;
  const std::string& id = asker.function_id;
  const Rights& rights = asker.rights();
  const op::Principal& principal = rights.principal;
  const Viewer named = asker.lent ? viewer_of(principal) : Viewer();
  const Viewer& viewer = asker.lent ? named : caller.view;
  if (!principal.allows(kCallPermission) && id != kIntroduction) {
    return answer(asker, {.code = "FORBIDDEN",
                          .message = fmt::format("calling {} needs the permission {}", id, kCallPermission)});
  }
  if (caller.calls_made >= kMaxCallsMade) {
    return answer(asker,
                  {.code = "rate_limited",
                   .message = fmt::format("{} calls of this connection are unanswered", kMaxCallsMade)});
  }
  const std::string_view data = frame.raw_or_null("data").value_or("null");
  Functions::Target target = functions_.pick(id, viewer);
  switch (target.reach) {
    case Functions::Reach::kNone:
      return answer(asker, no_such_function(id));
    case Functions::Reach::kBusy:
      return answer(asker, no_free_worker(id));
    case Functions::Reach::kLocal:
      return call_local(std::move(target.local), data, std::move(asker));
    case Functions::Reach::kWorker:
      break;
  }
  PendingCall call{.callee = target.worker,
                   .function_id = id,
                   .deadline = loop_.clock().steady() + options_.call_timeout,
                   .traceparent = asker.traceparent,
                   .baggage = asker.baggage};
  std::optional<Told> told;
  if (target.worker->view.tenant != viewer.tenant) {
    call.lent = lend(rights, target.worker->rights.principal);
    told = {.baggage = frame.text("baggage", kMaxTraceBytes).value_or(""), .scope = principal.scope()};
  }
  if (!asker.id.empty()) {
    call.caller = asker.worker;
    call.caller_id = asker.id;
  }
  const bool worth_keeping = !target.alone || data.size() <= kSmallSpareBytes;
  if (worth_keeping && !asker.lent && !call.lent && calls_.spare_bytes() + data.size() <= kMaxSpareBytes)
    call.spare =
        std::make_unique<SpareCall>(SpareCall{.data = std::string(data),
                                              .metadata = std::string(frame.raw("metadata").value_or("")),
                                              .viewer = viewer,
                                              .caller_worker = caller.id});
  // A failure has been answered by end_call.
  const write::Invoke message{.invocation_id = {},
                              .function_id = target.own_id.empty() ? id : target.own_id,
                              .data = data,
                              .caller_worker = caller.id,
                              .trace = {asker.traceparent, asker.baggage},
                              .metadata = frame.raw("metadata").value_or("")};
  if (invoke_worker(std::move(call), message, std::move(told)) &&
      target.worker->link->unsent() > kSoftUnsentBytes)
    congested_ = target.worker;
}

// The call is on record before its frame is sent: a fast worker's answer always finds it.
Result<> Bus::invoke_worker(PendingCall call, write::Invoke message, std::optional<Told> told) {
  const WorkerPtr callee = call.callee;
  std::string trace;
  if (observer_ != nullptr) {
    const std::string given = unquoted(message.trace.traceparent);
    const std::string tenant = call.lent ? viewer_of(call.lent->principal).tenant : callee->view.tenant;
    const Observer::Watch watch = observer_->began({.function_id = call.function_id,
                                                    .tenant = tenant,
                                                    .kind = Observer::Kind::kWorker,
                                                    .traceparent = given});
    call.watched = watch.id;
    trace = write::quoted(watch.traceparent);
    if (!trace.empty()) message.trace.traceparent = trace;
  }
  const std::string id = calls_.add(std::move(call));
  message.invocation_id = id;
  const std::string baggage = told ? write::quoted(with_scope(told->baggage, told->scope, id)) : "";
  if (told) message.trace.baggage = baggage;
  const write::Relay frame = write::invoke(message);
  if (Result<> sent = callee->link->send_parts(frame.parts()); !sent) {
    if (const std::optional<PendingCall> failed = calls_.take(id, *callee))
      end_call(*failed, {.code = "channel_send_failed",
                         .message = fmt::format("{} could not be reached: {}", failed->function_id,
                                                sent.error().message)});
    return sent;
  }
  watch_timeouts();
  return {};
}

// What all calls of a worker hold is limited.
void Bus::call_local(std::shared_ptr<const LocalFunction> function, std::string_view data, Asker asker) {
  const size_t held = asker.worker->call_bytes;
  if (held + data.size() > kMaxCallBytes)
    return answer(asker, {.code = "rate_limited",
                          .message = fmt::format("calls of this connection that run in the engine hold {} "
                                                 "bytes, which is the limit",
                                                 held)});
  start_local(std::move(function), data, nullptr, std::move(asker));
}

void Bus::start_local(std::shared_ptr<const LocalFunction> function, std::string_view data,
                      const Payload* payload, Asker asker) {
  json::Value value;
  if (function->handler) {
    Result<json::Value> parsed = payload != nullptr ? payload->value() : json::parse(data);
    if (!parsed) return answer(asker, to_wire(parsed.error()));
    value = std::move(*parsed);
  }
  Worker& caller = *asker.worker;
  ++caller.calls_made;
  caller.call_bytes += data.size();
  const op::Principal& principal = asker.rights().principal;
  op::CallContext context{.principal = principal,
                          .scope = principal.scope(),
                          .deadline = loop_.clock().steady() + options_.call_timeout,
                          .stop = caller.gone.get_token()};
  WorkerPtr who = asker.fired ? nullptr : asker.worker;
  std::string traceparent = unquoted(asker.traceparent);
  std::string baggage = unquoted(asker.baggage);
  asker.watched = began_here(function->spec.id, principal, traceparent);
  if (function->handler) {
    LocalCall call{.context = std::move(context),
                   .caller = std::move(who),
                   .data = std::move(value),
                   .traceparent = std::move(traceparent),
                   .baggage = std::move(baggage)};
    tasks_.spawn(run_local(std::move(function), std::move(call), data.size(), std::move(asker)));
  } else {
    TextCall call{.context = std::move(context),
                  .caller = std::move(who),
                  .data = data,
                  .traceparent = std::move(traceparent),
                  .baggage = std::move(baggage)};
    tasks_.spawn(run_text(std::move(function), std::move(call), data.size(), std::move(asker)));
  }
}

Task<> Bus::run_local(std::shared_ptr<const LocalFunction> function, LocalCall call, size_t bytes,
                      Asker asker) {
  const Result<json::Value> value = co_await function->handler(std::move(call));
  const bool heard = !asker.id.empty() && asker.worker->link != nullptr;
  end_local(asker, bytes,
            value ? Result<std::string>(heard ? json::write(*value) : "") : fail(value.error()));
}

Task<> Bus::run_text(std::shared_ptr<const LocalFunction> function, TextCall call, size_t bytes,
                     Asker asker) {
  end_local(asker, bytes, co_await function->text(std::move(call)));
}

void Bus::end_local(const Asker& asker, size_t bytes, const Result<std::string>& value) {
  --asker.worker->calls_made;
  asker.worker->call_bytes -= bytes;
  (value ? calls_ok_ : calls_failed_).add();
  if (asker.watched != 0) {
    const WireError error = value ? WireError() : to_wire(value.error());
    ended(asker.watched, error.code, error.message);
  }
  if (asker.id.empty() || asker.worker->link == nullptr) return;
  if (!value) return answer(asker, to_wire(value.error()));
  send(*asker.worker, write::result({.invocation_id = asker.id,
                                     .function_id = asker.function_id,
                                     .result = *value,
                                     .trace = {asker.traceparent, asker.baggage}})
                          .parts());
}

Result<> Bus::answered(const WorkerPtr& worker, Envelope& frame) {
  const std::optional<std::string_view> id = frame.text("invocation_id", kMaxIdBytes);
  if (!id) return fail(Code::kInvalidArgument, "a result without an invocation_id");
  // Late or invented: nobody waits for it.
  std::optional<PendingCall> call = calls_.take(*id, *worker);
  if (!call) return {};
  const std::string_view error = frame.raw("error").value_or("");
  const std::string_view value = frame.raw("result").value_or("");
  (error.empty() ? calls_ok_ : calls_failed_).add();
  if (call->watched != 0) {
    const Result<json::Value> why = error.empty() ? Result<json::Value>(json::Value()) : json::parse(error);
    ended(call->watched,
          error.empty() ? ""
          : why         ? why->string_or("code", "UNKNOWN")
                        : "UNKNOWN",
          why ? why->string_or("message") : "");
  }
  const bool refused = is_refusal(error);
  WorkerReply reply{.worker = worker,
                    .call = std::move(*call),
                    .value = value,
                    .error = error,
                    .traceparent = trace_text(frame, "traceparent"),
                    .baggage = trace_text(frame, "baggage"),
                    .refused = refused};
  // An SDK forgets a function before it says so: the word that it is gone may be right behind.
  const bool doubtful = refused && worker->functions.contains(reply.call.function_id);
  if (doubtful && held_refusals_ < kMaxHeldRefusals && error.size() <= kMaxHeldRefusalBytes) {
    ++held_refusals_;
    calls_.hold(reply.call.spare_bytes());
    tasks_.spawn(settle_in_a_moment(std::move(reply), std::string(error)));
  } else {
    settle(std::move(reply));
  }
  return {};
}

Task<> Bus::settle_in_a_moment(WorkerReply reply, std::string error) {
  reply.value = {};
  reply.error = error;
  reply.traceparent = {};
  reply.baggage = {};
  const Result<> slept = co_await runtime::sleep_for(loop_, kRefusalPatience, tasks_.stop_token());
  if (!slept) log::debug("bus", "a refusal is settled at the end", {{"function", reply.call.function_id}});
  --held_refusals_;
  calls_.let_go(reply.call.spare_bytes());
  settle(std::move(reply));
}

// Tells whoever waits for the call, or passes it on when the worker has given the function up.
void Bus::settle(WorkerReply reply) {
  PendingCall& call = reply.call;
  // It has gone while its call was held. What the engine waits for goes on: there the caller is only counted.
  if (!call.waiter && call.caller && call.caller->link == nullptr) return;
  const bool given_up = reply.refused && !reply.worker->functions.contains(call.function_id);
  if (given_up && pass_on(call)) return;
  if (call.waiter) {
    call.waiter->resolve(reply.error.empty() ? CallEnd(std::string(reply.value))
                         : given_up          ? CallEnd(fail(mark_never_begun(from_wire(reply.error))))
                                             : CallEnd(fail(from_wire(reply.error))));
    return;
  }
  if (!call.caller || call.caller_id.empty()) return;
  const std::string_view traceparent = reply.traceparent.empty() ? call.traceparent : reply.traceparent;
  send(*call.caller,
       write::result({.invocation_id = call.caller_id,
                      .function_id = call.function_id,
                      .result = reply.value,
                      .error = reply.error,
                      .trace = {traceparent, reply.baggage.empty() ? call.baggage : reply.baggage}})
           .parts());
}

// To the next who provides the function. False when the call stays where it was.
bool Bus::pass_on(PendingCall& call) {
  if (!call.spare || call.spare->passed_on >= kMaxPassedOn) return false;
  Functions::Target target = functions_.pick(call.function_id, call.spare->viewer);
  if (target.reach != Functions::Reach::kWorker || target.worker->view.tenant != call.spare->viewer.tenant)
    return false;
  const std::unique_ptr<SpareCall> spare = std::move(call.spare);
  PendingCall next{.callee = target.worker,
                   .function_id = call.function_id,
                   .deadline = call.deadline,
                   .caller = call.caller,
                   .caller_id = call.caller_id,
                   .traceparent = call.traceparent,
                   .baggage = call.baggage,
                   .spare = std::make_unique<SpareCall>(*spare)};
  ++next.spare->passed_on;
  // A failure has been answered by end_call.
  const Result<> sent =
      invoke_worker(std::move(next), {.invocation_id = {},
                                      .function_id = target.own_id.empty() ? call.function_id : target.own_id,
                                      .data = spare->data,
                                      .caller_worker = spare->caller_worker,
                                      .trace = {call.traceparent, call.baggage},
                                      .metadata = spare->metadata});
  if (!sent) log::debug("bus", "a call could not be passed on", {{"error", sent.error().message}});
  return true;
}

void Bus::answer(const Asker& asker, const WireError& error) {
  if (asker.id.empty()) return;
  send(*asker.worker, write::result({.invocation_id = asker.id,
                                     .function_id = asker.function_id,
                                     .failure = &error,
                                     .trace = {asker.traceparent, asker.baggage}})
                          .parts());
}

std::uint64_t Bus::began_here(std::string_view id, const op::Principal& principal, std::string& traceparent) {
  if (observer_ == nullptr) return 0;
  const std::string tenant = viewer_of(principal).tenant;
  Observer::Watch watch = observer_->began(
      {.function_id = id, .tenant = tenant, .kind = Observer::Kind::kEngine, .traceparent = traceparent});
  if (!watch.traceparent.empty()) traceparent = std::move(watch.traceparent);
  return watch.id;
}

void Bus::ended(std::uint64_t watched, std::string_view code, std::string_view message) {
  if (watched != 0 && observer_ != nullptr) observer_->ended(watched, code, message);
}

void Bus::end_call(const PendingCall& call, const WireError& error) {
  ended(call.watched, error.code, error.message);
  if (call.waiter) call.waiter->resolve(fail(from_wire(write::error_json(error))));
  if (!call.caller) return;
  answer({.worker = call.caller,
          .id = call.caller_id,
          .function_id = call.function_id,
          .traceparent = call.traceparent,
          .baggage = call.baggage},
         error);
}

// One timer for all calls, and only while there are any; a call is given up to an eighth of its time too much.
void Bus::watch_timeouts() {
  if (timeout_timer_ || calls_.idle()) return;
  const auto period = std::clamp<std::chrono::milliseconds>(options_.call_timeout / 8, 1ms, 30s);
  timeout_timer_ = loop_.call_at(loop_.clock().steady() + period, [this] {
    timeout_timer_.reset();
    for (const PendingCall& call : calls_.take_expired(loop_.clock().steady())) {
      calls_lost_.add();
      end_call(call, {.code = "timeout",
                      .message = fmt::format("{} has not answered within {} ms", call.function_id,
                                             options_.call_timeout.count())});
    }
    watch_timeouts();
  });
}
}  // namespace chela::bus
