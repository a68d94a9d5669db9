#include "bus/bridge/remote.h"

#include <unistd.h>

#include <algorithm>

#include "bus/baggage.h"
#include "bus/bridge/channel_refs.h"
#include "bus/bridge/frames.h"
#include "bus/limits.h"
#include "obs/log.h"
#include "runtime/sleep.h"
#include "runtime/stop_scope.h"

namespace chela::bus::bridge {
namespace {

constexpr std::uint16_t kNormalEnd = 1000;
constexpr std::uint16_t kTryAgainLater = 1013;

// Counts while it lives.
class Counted {
 public:
  explicit Counted(size_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  size_t& count_;
};

struct QuotedTrace {
  std::string traceparent;
  std::string baggage;
  Trace view() const { return {.traceparent = traceparent, .baggage = baggage}; }
};

// Users of this engine mean nothing to the other one.
QuotedTrace trace_of(const RemoteCall& call) {
  return {.traceparent = write::quoted(call.traceparent),
          .baggage = write::quoted(with_scope(call.baggage, std::nullopt))};
}

std::string register_trigger(const RemoteTrigger& trigger) {
  const std::string config = json::write(trigger.config);
  const std::string metadata = trigger.metadata.is_null() ? "" : json::write(trigger.metadata);
  std::string frame;
  write::register_trigger(frame, {.id = trigger.id,
                                  .type = trigger.type,
                                  .function_id = trigger.function_id,
                                  .config = config,
                                  .metadata = metadata});
  return frame;
}

}  // namespace

Remote::Remote(Parts parts, Options options)
    : loop_(parts.loop),
      ids_(parts.ids),
      connect_(std::move(parts.connect)),
      options_(std::move(options)),
      tasks_(parts.loop) {}

void Remote::start() { tasks_.spawn(run()); }

Task<> Remote::stop() {
  tasks_.stop();
  for (const runtime::Completion<bool>& waiter : std::exchange(waiting_, {})) waiter.resolve(false);
  co_await tasks_.join();
}

Task<> Remote::run() {
  const std::stop_token stop = tasks_.stop_token();
  std::chrono::milliseconds pause = kFirstRetry;
  while (!stop.stop_requested()) {
    Result<std::unique_ptr<net::WebSocket>> socket = co_await connect_(stop);
    if (socket) {
      co_await attend(**socket);
      if (connected_) pause = kFirstRetry;
      disconnected();
      socket->reset();
    } else if (problem_.empty() && !stop.stop_requested()) {
      problem_ = socket.error().message;
      log::warn("bus", "the other engine cannot be reached; trying on",
                {{"engine", options_.where}, {"error", problem_}});
    }
    if (stop.stop_requested()) break;
    // Some of them later, so that not all who have lost an engine come back at once.
    const auto spread =
        std::chrono::milliseconds(ids_.random() % static_cast<std::uint64_t>(pause.count() / 3 + 1));
    if (!co_await runtime::sleep_for(loop_, pause + spread, stop)) break;
    pause = std::min(pause * 2, kLastRetry);
  }
}

Task<> Remote::attend(net::WebSocket& socket) {
  socket_ = &socket;
  connection_ended_ = std::stop_source();
  ++connection_;
  const std::stop_token stop = tasks_.stop_token();
  for (;;) {
    const Result<std::optional<net::Message>> message = co_await socket.receive(stop);
    if (!message || !*message) {
      if (!stop.stop_requested())
        log::warn("bus", "the connection to the other engine has ended; trying again",
                  {{"engine", options_.where}, {"reason", message ? "it closed" : message.error().message}});
      break;
    }
    handle((*message)->data);
  }
  socket.close(kNormalEnd, "this engine has no more to say");
}

void Remote::disconnected() {
  socket_ = nullptr;
  connected_ = false;
  connection_ended_.request_stop();
  for (const auto& [id, answer] : std::exchange(pending_, {}))
    answer.resolve(
        fail(Error{.code = Code::kUnavailable,
                   .message = fmt::format("the connection to {} ended during the call", options_.where)}
                 .with("bus_code", "invocation_stopped")));
}

void Remote::greeted(Envelope& frame) {
  if (connected_) return;
  if (!reattach_token_.empty()) send(frames::reattach(worker_id_, reattach_token_));
  worker_id_ = frame.text("worker_id", kMaxIdBytes).value_or("");
  reattach_token_ = frame.text("reattach_token", kMaxIdBytes).value_or("");
  if (!options_.service_id.empty())
    send(frames::register_service(options_.service_id, options_.service_name));
  for (const auto& [id, function] : functions_) send(frames::register_function(id, function.description));
  for (const auto& [id, trigger] : triggers_) send(register_trigger(trigger));
  send(
      frames::tell("engine::workers::register",
                   json::write(json::Value::object(
                       {{"runtime", "chela"}, {"name", options_.name}, {"pid", std::int64_t{::getpid()}}}))));
  connected_ = true;
  problem_.clear();
  log::info("bus", "connected to the other engine", {{"engine", options_.where}});
  for (const runtime::Completion<bool>& waiter : std::exchange(waiting_, {})) waiter.resolve(true);
}

// What cannot be sent would be missing there: a new connection says all of it again.
void Remote::send(const TextParts& frame) {
  if (socket_ != nullptr && !socket_->send_text_parts(frame))
    socket_->close(kTryAgainLater, "too much is unsent");
}

void Remote::handle(std::string_view text) {
  Result<Envelope> frame = Envelope::read(scanner_, text);
  if (!frame) return;
  const std::string type(frame->text("type", kMaxIdBytes).value_or(""));
  switch (frame->type()) {
    case FrameType::kInvokeFunction:
      return begin(*frame);
    case FrameType::kInvocationResult:
      return answered(*frame);
    case FrameType::kPing: {
      std::string pong;
      write::pong(pong);
      return send(pong);
    }
    default:
      break;
  }
  if (type == "workerregistered") return greeted(*frame);
  const bool refused = type == "error" || type == "registrationrejected" ||
                       (type == "triggerregistrationresult" && frame->raw("error"));
  if (!refused) return;
  log::warn("bus", "the other engine refuses something",
            {{"engine", options_.where}, {"answer", std::string(text.substr(0, kMaxMetadataBytes))}});
}

void Remote::answered(Envelope& frame) {
  const auto found = pending_.find(frame.text("invocation_id", kMaxIdBytes).value_or(""));
  if (found == pending_.end()) return;
  const Answer answer = found->second;
  pending_.erase(found);
  if (const std::optional<std::string_view> error = frame.raw("error")) {
    answer.resolve(fail(from_wire(*error)));
  } else {
    answer.resolve(std::string(frame.raw("result").value_or("")));
  }
}

Error Remote::not_there() const {
  return {.code = Code::kUnavailable,
          .message = problem_.empty()
                         ? fmt::format("the engine {} is not connected", options_.where)
                         : fmt::format("the engine {} is not connected: {}", options_.where, problem_)};
}

Task<Result<>> Remote::wait_connected(std::stop_token stop) {
  while (!connected_) {
    if (stop.stop_requested() || tasks_.stop_token().stop_requested()) co_return fail(not_there());
    const runtime::Completion<bool> done(loop_);
    waiting_.push_back(done);
    const std::stop_callback on_stop(stop, [done] { done.resolve(false); });
    co_await done;
    std::erase_if(waiting_, [](const runtime::Completion<bool>& each) { return each.resolved(); });
  }
  co_return Result<>();
}

Task<Result<std::string>> Remote::call(RemoteCall call) {
  if (const Result<> may = may_cross(call.function_id, call.data); !may) co_return fail(may.error());
  if (calls_ >= kMaxRemoteCalls)
    co_return fail(Code::kRateLimited, "{} calls to {} are unanswered", calls_, options_.where);
  const Counted counted(calls_);
  const runtime::StopScope scope(loop_, call.stop, loop_.clock().steady() + call.timeout);
  if (const Result<> there = co_await wait_connected(scope.token()); !there) co_return fail(there.error());
  const std::string id = ids_.next();
  const QuotedTrace trace = trace_of(call);
  const write::Relay frame = write::invoke({.invocation_id = id,
                                            .function_id = call.function_id,
                                            .data = call.data,
                                            .caller_worker = {},
                                            .trace = trace.view()});
  const Answer answer(loop_);
  if (const Result<> sent = socket_->send_text_parts(frame.parts()); !sent) co_return fail(sent.error());
  pending_.emplace(id, answer);
  const std::string what = fmt::format("the call of {} at {}", call.function_id, options_.where);
  const std::stop_callback on_stop(scope.token(), [&] { answer.resolve(fail(scope.reason(what))); });
  Result<std::string> result = co_await answer;
  pending_.erase(id);
  co_return result;
}

Task<Result<>> Remote::tell(RemoteCall call) {
  if (Result<> may = may_cross(call.function_id, call.data); !may) co_return may;
  if (calls_ >= kMaxRemoteCalls)
    co_return fail(Code::kRateLimited, "{} calls to {} are unanswered", calls_, options_.where);
  const Counted counted(calls_);
  const runtime::StopScope scope(loop_, call.stop, loop_.clock().steady() + call.timeout);
  if (Result<> there = co_await wait_connected(scope.token()); !there) co_return there;
  const QuotedTrace trace = trace_of(call);
  co_return socket_->send_text(frames::tell(call.function_id, call.data, trace.view()));
}

void Remote::begin(Envelope& frame) {
  const std::string id(frame.text("invocation_id", kMaxIdBytes).value_or(""));
  const std::string function_id(frame.text("function_id", kMaxIdBytes).value_or(""));
  const auto found = functions_.find(function_id);
  const bool busy = served_ >= kMaxServedCalls;
  if (found == functions_.end() || busy) {
    const WireError error =
        busy ? WireError{.code = "rate_limited", .message = "too many calls run behind this bridge"}
             : WireError{.code = "function_not_found", .message = "Function not found"};
    return send(write::result({.invocation_id = id, .function_id = function_id, .failure = &error}).parts());
  }
  if (const Result<> may = may_cross(function_id, frame.raw_or_null("data").value_or("null")); !may) {
    const WireError error = to_wire(may.error());
    return send(write::result({.invocation_id = id, .function_id = function_id, .failure = &error}).parts());
  }
  ServedCall call{.data = std::string(frame.raw_or_null("data").value_or("null")),
                  .traceparent = std::string(frame.text("traceparent", kMaxTraceBytes).value_or("")),
                  .baggage = std::string(frame.text("baggage", kMaxTraceBytes).value_or("")),
                  .stop = connection_ended_.get_token()};
  tasks_.spawn(serve(found->second.serve, std::move(call), id, function_id, connection_));
}

Task<> Remote::serve(std::shared_ptr<const Serve> serve, ServedCall call, std::string id,
                     std::string function_id, std::uint64_t connection) {
  const Counted counted(served_);
  const Result<std::string> result = co_await (*serve)(std::move(call));
  if (id.empty() || connection != connection_) co_return;
  const WireError error = result ? WireError{} : to_wire(result.error());
  send(write::result({.invocation_id = id,
                      .function_id = function_id,
                      .result = result ? *result : std::string_view(),
                      .failure = result ? nullptr : &error})
           .parts());
}

void Remote::provide(const std::string& id, std::string description, Serve serve) {
  Function& function = functions_[id];
  function = {.description = std::move(description),
              .serve = std::make_shared<const Serve>(std::move(serve))};
  if (connected_) send(frames::register_function(id, function.description));
}

void Remote::withdraw(const std::string& id) {
  if (functions_.erase(id) > 0 && connected_) send(frames::unregister_function(id));
}

void Remote::bind(RemoteTrigger trigger) {
  if (connected_) send(register_trigger(trigger));
  std::string id = trigger.id;
  triggers_.insert_or_assign(std::move(id), std::move(trigger));
}

void Remote::release(const std::string& trigger_id) {
  const auto found = triggers_.find(trigger_id);
  if (found == triggers_.end()) return;
  std::string frame;
  write::unregister_trigger(frame, trigger_id, found->second.type);
  triggers_.erase(found);
  if (connected_) send(frame);
}

}  // namespace chela::bus::bridge
