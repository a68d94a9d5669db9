#include "bus/bus.h"
#include "obs/log.h"

namespace chela::bus {
namespace {

json::Value parsed(std::string_view raw) {
  if (raw.empty()) return {};
  Result<json::Value> value = json::parse(raw);
  return value ? std::move(*value) : json::Value();
}

// A text that the answer may replace.
void take(std::string& text, const json::Value& answer, std::string_view key, size_t most) {
  const json::Value* found = answer.find(key);
  const std::string* given = found == nullptr ? nullptr : found->as_string();
  if (given != nullptr && !given->empty() && given->size() <= most) text = *given;
}

// A JSON value that it may replace.
void take_json(std::string& raw, const json::Value& answer, std::string_view key) {
  const json::Value* found = answer.find(key);
  if (found != nullptr) raw = found->is_null() ? "" : json::write(*found);
}

}  // namespace

Result<> Bus::lets_call(const Worker& worker, std::string_view function_id) const {
  if (!worker.session) return {};
  const auto metadata = [&] {
    const Functions::Row row = functions_.find(function_id, worker.view);
    return row.spec == nullptr ? json::Value() : parsed(row.spec->metadata);
  };
  const Session::Verdict verdict = worker.session->may_call(function_id, metadata);
  if (verdict == Session::Verdict::kAllowed) return {};
  const std::string_view advice = verdict == Session::Verdict::kForbidden
                                      ? "remove from rbac.forbidden_functions"
                                      : "add to rbac.expose_functions";
  return fail(Error{.code = Code::kPermissionDenied,
                    .message = fmt::format("function '{}' not allowed ({})", function_id, advice)}
                  .with("bus_code", "FORBIDDEN"));
}

// The middleware is called instead, and its answer is the answer. Runs as a function of the engine does, so that it counts as one.
void Bus::intercept(Asker asker, Envelope& frame, json::Value action) {
  if (asker.worker->calls_made >= kMaxCallsMade)
    return answer(asker,
                  {.code = "rate_limited",
                   .message = fmt::format("{} calls of this connection are unanswered", kMaxCallsMade)});
  auto task = std::make_shared<LocalFunction>();
  task->handler = [this, session = asker.worker->session, id = asker.function_id,
                   action = std::move(action)](LocalCall call) {
    json::Value question = json::Value::object({{"function_id", id}, {"payload", std::move(call.data)}});
    question.set("action", action);
    question.set("context", session->context);
    return ask_host(session, session->deciders.middleware, std::move(question), std::move(call));
  };
  call_local(std::move(task), frame.raw_or_null("data").value_or("null"), std::move(asker));
}

// Calls a function in the name of the listener, whatever the session may.
Task<Result<json::Value>> Bus::ask_host(SessionPtr session, std::string function_id, json::Value question,
                                        LocalCall call) {
  const Rights& host = *session->deciders.host;
  call.context.principal = host.principal;
  call.context.scope = host.principal.scope();
  co_return co_await perform({.context = std::move(call.context),
                              .function_id = std::move(function_id),
                              .payload = std::move(question),
                              .traceparent = std::move(call.traceparent),
                              .baggage = std::move(call.baggage)});
}

// An object allows; anything else does not.
Task<Result<json::Value>> Bus::decide(SessionPtr session, std::string function_id, json::Value question) {
  question.set("context", session->context);
  LocalCall call;
  call.context.deadline = loop_.clock().steady() + kDecisionTimeout;
  call.context.stop = tasks_.stop_token();
  Result<json::Value> answer = co_await ask_host(session, function_id, std::move(question), std::move(call));
  if (answer && !answer->is_object())
    co_return fail(Code::kPermissionDenied, "{} did not allow it", function_id);
  co_return answer;
}

void Bus::start_deciding(const WorkerPtr& worker, Task<> task) {
  ++worker->undecided;
  tasks_.spawn(run_decision(worker, std::move(task)));
}

Task<> Bus::run_decision(WorkerPtr worker, Task<> task) {
  co_await std::move(task);
  if (--worker->undecided > 0) co_return;
  for (const runtime::Completion<bool>& waiter : std::exchange(worker->settling, {})) waiter.resolve(true);
}

Task<> Bus::settled(WorkerPtr worker) {
  if (worker->undecided == 0) co_return;
  const runtime::Completion<bool> done(loop_);
  worker->settling.push_back(done);
  co_await done;
}

Task<> Bus::decide_function(WorkerPtr worker, FunctionSpec spec) {
  json::Value question = json::Value::object({{"function_id", spec.id}, {"description", spec.description}});
  question.set("metadata", parsed(spec.metadata));
  const Result<json::Value> answer =
      co_await decide(worker->session, worker->session->deciders.on_function, std::move(question));
  if (worker->link == nullptr) co_return;
  const std::string own = spec.id;
  Result<> added = answer ? Result<>{} : fail(answer.error());
  if (answer) {
    take(spec.id, *answer, "function_id", kMaxIdBytes);
    take(spec.description, *answer, "description", kMaxDescriptionBytes);
    take_json(spec.metadata, *answer, "metadata");
    if (spec.id != own) spec.own_id = own;
    added = add_function(worker, std::move(spec));
  }
  if (added) co_return;
  log::info("bus", "a function was not registered", {{"function", own}, {"reason", added.error().message}});
  std::string rejected;
  write::registration_rejected(rejected, own, "engine");
  send(*worker, rejected);
}

Task<> Bus::decide_trigger_type(WorkerPtr worker, TriggerType type) {
  const Result<json::Value> answer =
      co_await decide(worker->session, worker->session->deciders.on_trigger_type,
                      json::Value::object({{"trigger_type_id", type.id}, {"description", type.description}}));
  if (worker->link == nullptr) co_return;
  Result<> added = answer ? Result<>{} : fail(answer.error());
  const std::string own = type.id;
  if (answer) {
    take(type.id, *answer, "trigger_type_id", kMaxIdBytes);
    take(type.description, *answer, "description", kMaxDescriptionBytes);
    added = add_worker_type(worker, std::move(type));
  }
  if (!added)
    log::info("bus", "a trigger type was not registered", {{"type", own}, {"reason", added.error().message}});
}

// The trigger keeps its id, by which its owner ends it.
Task<> Bus::decide_trigger(Trigger trigger) {
  const WorkerPtr worker = trigger.owner;
  json::Value question = json::Value::object(
      {{"trigger_id", trigger.id}, {"trigger_type", trigger.type}, {"function_id", trigger.function_id}});
  question.set("config", parsed(trigger.config));
  question.set("metadata", parsed(trigger.metadata));
  const Result<json::Value> answer =
      co_await decide(worker->session, worker->session->deciders.on_trigger, std::move(question));
  if (worker->link == nullptr) co_return;
  if (!answer) {
    tell_refusal(trigger, answer.error().message);
    co_return;
  }
  take(trigger.type, *answer, "trigger_type", kMaxIdBytes);
  take(trigger.function_id, *answer, "function_id", kMaxIdBytes);
  take_json(trigger.config, *answer, "config");
  take_json(trigger.metadata, *answer, "metadata");
  add_trigger(std::move(trigger));
}

}  // namespace chela::bus
