#include "bus/bus.h"

#include "base/check.h"
#include "base/strings.h"
#include "bus/engine_functions.h"
#include "bus/limits.h"
#include "crypto/random.h"
#include "obs/log.h"
#include "runtime/stop_scope.h"

namespace chela::bus {
namespace {

constexpr std::uint16_t kGoingAway = 1001;
constexpr std::uint16_t kPolicyViolation = 1008;
constexpr std::string_view kCallsHelp = "Calls that workers answered, by how they ended";
constexpr std::pair<std::string_view, std::string_view> kEventTypes[] = {
    {"engine::functions-available", "the set of functions has changed"},
    {"engine::workers-available", "a worker has come, changed or gone"},
};

}  // namespace

Bus::Bus(BusParts parts, BusOptions options)
    : loop_(parts.loop),
      ids_(parts.ids),
      options_(options),
      tasks_(parts.loop),
      workers_gauge_(parts.metrics.gauge("chela_bus_workers", "Connections to the bus")),
      frames_(parts.metrics.counter("chela_bus_frames_total", "Frames received from workers")),
      bad_frames_(parts.metrics.counter("chela_bus_bad_frames_total", "Frames that could not be used")),
      calls_ok_(parts.metrics.counter("chela_bus_calls_total", kCallsHelp, {{"outcome", "ok"}})),
      calls_failed_(parts.metrics.counter("chela_bus_calls_total", kCallsHelp, {{"outcome", "error"}})),
      calls_lost_(parts.metrics.counter("chela_bus_calls_total", kCallsHelp, {{"outcome", "lost"}})),
      events_lost_(parts.metrics.counter("chela_bus_events_lost_total",
                                         "Events that the function of a trigger could not be called for")) {
  add_engine_functions(*this);
  for (const auto& [id, description] : kEventTypes) {
    const Result<> added =
        triggers_.add_type({.id = std::string(id), .description = std::string(description)});
    CHELA_CHECK(added.has_value(), "the types of the bus itself are the first");
  }
}

Bus::~Bus() {
  if (timeout_timer_) loop_.cancel(*timeout_timer_);
  if (events_timer_) loop_.cancel(*events_timer_);
}

WorkerPtr Bus::connect(Link& link, Rights rights, std::string address, SessionPtr session) {
  auto worker = std::make_shared<Worker>();
  worker->id = ids_.next();
  worker->reattach_token = crypto::random_token();
  worker->view = viewer_of(rights.principal);
  worker->rights = std::move(rights);
  worker->session = std::move(session);
  worker->link = &link;
  worker->address = std::move(address);
  worker->number = ++connections_;
  worker->connected_at = loop_.clock().now();
  if (stopping_) {
    link.close(kGoingAway, "the engine stops");
    return worker;
  }
  workers_.emplace(worker->id, worker);
  workers_gauge_.set(static_cast<double>(workers_.size()));
  std::string greeting;
  write::worker_registered(greeting, worker->id, worker->reattach_token);
  send(*worker, greeting);
  return worker;
}

WorkerPtr Bus::receive(const WorkerPtr& worker, std::string_view frame) {
  frames_.add();
  if (worker->link == nullptr || strings::trim(frame).empty()) return nullptr;
  Result<Envelope> envelope = Envelope::read(scanner_, frame);
  if (!envelope) {
    bad_frame(*worker, envelope.error());
    return nullptr;
  }
  if (!worker->announced && !worker->passing && envelope->type() != FrameType::kUnknown) {
    worker->announced = true;
    worker_event("worker_connected", *worker);
    if (observer_ != nullptr) observer_->connected(*worker);
  }
  handle(worker, *envelope);
  return std::exchange(congested_, nullptr);
}

void Bus::handle(const WorkerPtr& worker, Envelope& frame) {
  const auto run = [&]() -> Result<> {
    switch (frame.type()) {
      case FrameType::kInvokeFunction:
        return invoke(worker, frame);
      case FrameType::kInvocationResult:
        return answered(worker, frame);
      case FrameType::kRegisterFunction:
        return register_function(worker, frame);
      case FrameType::kUnregisterFunction:
        return unregister_function(*worker, frame);
      case FrameType::kRegisterTriggerType:
        return register_trigger_type(worker, frame);
      case FrameType::kUnregisterTriggerType:
        return unregister_trigger_type(worker, frame);
      case FrameType::kRegisterTrigger:
        return register_trigger(worker, frame);
      case FrameType::kUnregisterTrigger:
        return unregister_trigger(worker, frame);
      case FrameType::kTriggerRegistrationResult:
        return trigger_answered(worker, frame);
      case FrameType::kReattach:
        return reattach(worker, frame);
      case FrameType::kPing: {
        std::string pong;
        write::pong(pong);
        send(*worker, pong);
        return {};
      }
      case FrameType::kRegisterService:  // a grouping for people; nothing here shows it
      case FrameType::kPong:
        return {};
      case FrameType::kUnknown:
        break;
    }
    return fail(Code::kInvalidArgument, "the frame has no type that is known here");
  };
  if (const Result<> done = run(); !done) bad_frame(*worker, done.error());
}

// Never fatal: newer SDKs may say things that this bus does not know.
void Bus::bad_frame(Worker& worker, const Error& error) {
  bad_frames_.add();
  if (++worker.bad_frames > kMaxBadFramesLogged) return;
  log::warn("bus", "a frame was ignored",
            {{"worker", worker.id}, {"address", worker.address}, {"reason", error.message}});
}

// A worker that does not take what is meant for it is cut off: what it misses would leave it waiting for ever.
void Bus::send(Worker& worker, const TextParts& frame) {
  if (worker.link == nullptr || worker.cut_off) return;
  if (const Result<> sent = worker.link->send_parts(frame); !sent) {
    worker.cut_off = true;
    log::warn("bus", "a worker is cut off", {{"worker", worker.id}, {"reason", sent.error().message}});
    worker.link->close(kPolicyViolation, "it reads too slowly");
  }
}

Task<> Bus::wait_for(WorkerPtr slow, std::stop_token stop) {
  if (slow->link == nullptr || slow->stalled) co_return;
  const runtime::StopScope scope(loop_, stop, loop_.clock().steady() + kSlowWorkerWait);
  const Result<> read = co_await slow->link->drained(kSoftUnsentBytes, scope.token());
  if (!read && scope.timed_out() && slow->link != nullptr) {
    slow->stalled = true;
    log::warn("bus", "a worker does not read: calls to it fail until it does", {{"worker", slow->id}});
  }
}

void Bus::announce(Worker& worker, WorkerInfo info) {
  worker.info = std::move(info);
  if (!std::exchange(worker.introduced, true)) tell_waiting(worker);
  worker_event("worker_metadata_updated", worker);
}

void Bus::disconnect(const WorkerPtr& worker) {
  if (worker->link == nullptr) return;
  worker->link = nullptr;
  if (!worker->functions.empty()) functions_changed();
  for (const std::string& id : std::set(worker->functions)) functions_.remove(*worker, id);
  for (PendingCall& call : calls_.take_of(worker)) {
    calls_lost_.add();
    end_call(call, {.code = "invocation_stopped", .message = "Invocation stopped"});
  }
  worker->gone.request_stop();
  for (const std::string& id : std::set(worker->triggers)) {
    if (Trigger* trigger = triggers_.find(worker->view.tenant, id)) end_trigger(*trigger);
  }
  for (const std::string& id : std::set(worker->trigger_types)) {
    triggers_.remove_type(*worker, id);
    release(id, worker);
  }
  workers_.erase(worker->id);
  workers_gauge_.set(static_cast<double>(workers_.size()));
  if (worker->announced) {
    worker_event("worker_disconnected", *worker);
    if (observer_ != nullptr) observer_->gone(*worker);
  }
}

Result<> Bus::add(LocalFunction function) { return functions_.add(std::move(function)); }

std::vector<std::pair<std::string_view, size_t>> Bus::tables() const {
  return {{"workers", workers_.size()},
          {"functions", functions_.size()},
          {"trigger_types", triggers_.types()},
          {"triggers", triggers_.size()},
          {"calls", calls_.size()},
          {"calls_in_engine", tasks_.running()}};
}

Task<> Bus::stop() {
  stopping_ = true;
  for (const auto& [id, worker] : workers_) worker->link->close(kGoingAway, "the engine stops");
  while (!workers_.empty()) {
    const WorkerPtr worker = workers_.begin()->second;
    disconnect(worker);
  }
  for (const auto& [tenant, owner] : stand_ins_) disconnect(owner);
  tasks_.stop();
  co_await tasks_.join();
}

}  // namespace chela::bus
