#include "bus/queue/queue.h"

#include <algorithm>

#include "base/check.h"
#include "base/utf8.h"
#include "obs/log.h"

namespace chela::bus::queue {
namespace {

constexpr std::string_view kOutcomes = "Messages of queues, by how an attempt ended";
constexpr std::string_view kMissed = "Messages that a subscriber who is away missed, as its queue was full";
constexpr std::string_view kSubscriber = "";  // what a message is parked for while nobody subscribes

// A copy for one attempt: a function of the engine makes a tree of it, which goes with the attempt.
Payload data_of(const Message& message) { return Payload::of_text(message.data.text()); }

}  // namespace

Shared::Shared(runtime::EventLoop& l, Bus& b, obs::Metrics& metrics, Limits given, RestoreRights restores)
    : loop(l),
      bus(b),
      limits(given),
      journal(l),
      deliveries(l),
      handled(metrics.counter("chela_bus_queue_attempts_total", kOutcomes, {{"outcome", "handled"}})),
      failed(metrics.counter("chela_bus_queue_attempts_total", kOutcomes, {{"outcome", "failed"}})),
      put_off(metrics.counter("chela_bus_queue_attempts_total", kOutcomes, {{"outcome", "put_off"}})),
      dead(metrics.counter("chela_bus_queue_attempts_total", kOutcomes, {{"outcome", "dead"}})),
      missed(metrics.counter("chela_bus_queue_missed_total", kMissed)),
      restore_(std::move(restores)) {}

std::shared_ptr<Holding> Shared::holding_of(const QueueId& id) {
  std::weak_ptr<Holding>& known = holdings_[{id.realm, id.user}];
  std::shared_ptr<Holding> holding = known.lock();
  if (holding) return holding;
  holding = std::make_shared<Holding>();
  known = holding;
  std::erase_if(holdings_, [](const auto& each) { return each.second.expired(); });
  return holding;
}

Task<Result<>> Shared::still_good(std::shared_ptr<const op::Principal> sender) {
  if (!restore_ || sender->token_id.empty()) co_return Result<>();
  const UnixMs now = loop.clock().now();
  if (const auto found = known_.find(sender->token_id); found != known_.end() && found->second.live(now))
    co_return Result<>();
  Result<Rights> rights = co_await restore_(*sender);
  if (!rights) co_return fail(rights.error());
  if (known_.size() >= kMaxKnownTokens) known_.clear();
  known_.insert_or_assign(sender->token_id, std::move(*rights));
  co_return Result<>();
}

Queue::Queue(Shared& shared, QueueId id, Policy policy)
    : shared_(shared),
      id_(std::move(id)),
      holding_(shared.holding_of(id_)),
      policy_(std::move(policy)),
      line_(policy_.concurrency) {
  ++holding_->queues;
}

Queue::~Queue() {
  --holding_->queues;
  if (timer_) shared_.loop.cancel(*timer_);
}

void Queue::set_policy(Policy policy) {
  policy_ = std::move(policy);
  line_.set_concurrency(policy_.concurrency);
}

// --- what is kept

Result<> Queue::reserve(size_t bytes) {
  const Limits& limits = shared_.limits;
  if (messages_.size() + reserved_ >= limits.messages)
    return fail(Code::kRateLimited, "the queue '{}' is full: it has {} messages", id_.name, limits.messages);
  if (bytes_ + bytes > limits.queue_bytes)
    return fail(Code::kRateLimited, "the queue '{}' is full: it holds {} of {} bytes", id_.name, bytes_,
                limits.queue_bytes);
  if (shared_.bytes + bytes > limits.total_bytes)
    return fail(Code::kRateLimited, "the queues are full: they hold {} of {} bytes", shared_.bytes,
                limits.total_bytes);
  if (holding_->bytes + bytes > limits.user_bytes)
    return fail(Code::kRateLimited, "the queues of {} are full: they hold {} of {} bytes", id_.user,
                holding_->bytes, limits.user_bytes);
  ++reserved_;
  count(bytes);
  return {};
}

void Queue::give_back(size_t bytes) {
  --reserved_;
  discount(bytes);
}

void Queue::count(size_t bytes) {
  bytes_ += bytes;
  holding_->bytes += bytes;
  shared_.bytes += bytes;
}

void Queue::discount(size_t bytes) {
  bytes_ -= bytes;
  holding_->bytes -= bytes;
  shared_.bytes -= bytes;
}

void Queue::add(MessagePtr message) {
  --reserved_;
  messages_.emplace(message->seq, message);
  enter_line(message);
  pump_soon();
}

void Queue::restore(MessagePtr message) {
  count(message->bytes());
  messages_.emplace(message->seq, message);
  if (message->died_at > 0) {
    dead_.emplace(message->seq, std::move(message));
  } else {
    enter_line(message);
  }
}

void Queue::enter_line(const MessagePtr& message) {
  line_.add({.seq = message->seq,
             .group = message->group,
             .priority = message->priority,
             .not_before = std::max(message->not_before, message->retry_at)});
}

void Queue::move_all(Queue& to) {
  CHELA_CHECK(line_.running() == 0, "messages that run are moved");
  for (auto& [seq, message] : messages_) {
    discount(message->bytes());
    message->group = to.policy_.order == Policy::Order::kFifo ? std::optional<std::string>("") : std::nullopt;
    shared_.journal.later(put_message(to.id_, *message));
    to.restore(std::move(message));
  }
  messages_.clear();
  dead_.clear();
  line_ = Line(policy_.concurrency);
}

void Queue::forget(const Message& message) {
  discount(message.bytes());
  messages_.erase(message.seq);
}

// --- who is called

void Queue::subscribe(BoundTriggerPtr trigger) {
  consumers_.push_back(std::move(trigger));
  line_.wake(kSubscriber);
  pump_soon();
}

void Queue::unsubscribe(const BoundTrigger& trigger) {
  std::erase_if(consumers_, [&trigger](const BoundTriggerPtr& each) { return each->key == trigger.key; });
}

BoundTriggerPtr Queue::consumer(const std::set<std::string>& asked) const {
  const UnixMs now = shared_.loop.clock().now();
  for (const BoundTriggerPtr& each : consumers_) {
    if (!each->ended.stop_requested() && each->rights.live(now) && !asked.contains(condition_of(*each)))
      return each;
  }
  return nullptr;
}

// --- work

void Queue::wake() {
  for (const std::string& name : line_.parked()) {
    if (name != kSubscriber) line_.wake(name);
  }
  pump_soon();
}

void Queue::pump_soon() {
  if (std::exchange(pump_posted_, true)) return;
  shared_.loop.post([weak = weak_from_this()] {
    if (const std::shared_ptr<Queue> queue = weak.lock()) queue->pump();
  });
}

void Queue::pump() {
  pump_posted_ = false;
  if (!shared_.started || shared_.deliveries.stop_token().stop_requested()) return;
  const UnixMs now = shared_.loop.clock().now();
  for (size_t i = 0; i < kMaxStartsPerTurn && !holds_enough(); ++i) {
    const std::optional<Seq> seq = line_.take(now);
    if (!seq) break;
    start(messages_.at(*seq));
  }
  if (line_.has_ready() && !holds_enough()) pump_soon();
  set_timer();
}

void Queue::set_timer() {
  const std::optional<UnixMs> next =
      holds_enough() ? std::nullopt : line_.next_at();  // else the end of one that runs goes on
  if (timer_ && next && timer_at_ == *next) return;
  if (timer_) shared_.loop.cancel(*timer_);
  timer_.reset();
  if (!next) return;
  timer_at_ = *next;
  const std::chrono::milliseconds wait(std::max<UnixMs>(*next - shared_.loop.clock().now(), 0));
  timer_ = shared_.loop.call_at(shared_.loop.clock().steady() + wait, [this] {
    timer_.reset();
    pump();
  });
}

// What nobody is there for waits, and it counts as no attempt: a worker that comes back finds all of it.
void Queue::start(MessagePtr message) {
  if (id_.kind == QueueId::Kind::kNamed) {
    const UnixMs now = shared_.loop.clock().now();
    if (message->sender->expires && *message->sender->expires <= now)
      return forbidden(message, "has expired");
    if (!shared_.bus.knows(message->function_id, viewer_of(*message->sender)))
      return line_.park(message->seq, message->function_id);
    running_bytes_ += message->bytes();
    return shared_.deliveries.spawn(deliver_named(std::move(message)));
  }
  BoundTriggerPtr trigger = consumer();
  if (!trigger) return line_.park(message->seq, kSubscriber);
  if (!shared_.bus.knows(trigger->function_id, viewer_of(trigger->rights.principal)))
    return line_.park(message->seq, trigger->function_id);
  running_bytes_ += message->bytes();
  shared_.deliveries.spawn(deliver_topic(std::move(message), std::move(trigger)));
}

FireOptions Queue::options(const Message& message) const {
  FireOptions out{.stop = shared_.deliveries.stop_token(),
                  .traceparent = message.traceparent,
                  .baggage = message.baggage};
  if (policy_.timeout) out.deadline = shared_.loop.clock().steady() + *policy_.timeout;
  return out;
}

Task<> Queue::deliver_named(MessagePtr message) {
  const std::shared_ptr<Queue> self = shared_from_this();
  if (const Result<> good = co_await shared_.still_good(message->sender); !good) {
    running_bytes_ -= message->bytes();
    if (shared_.deliveries.stop_token().stop_requested()) co_return;
    if (good.error().code == Code::kUnauthenticated) {
      forbidden(message, "was revoked");
    } else {
      put_off(message);
    }
    co_return pump_soon();
  }
  const op::Principal& sender = *message->sender;
  FireOptions how = options(*message);
  const Result<json::Value> said = co_await shared_.bus.deliver(
      {.principal = sender, .scope = sender.scope(), .deadline = how.deadline, .stop = std::move(how.stop)},
      message->function_id, data_of(*message), std::move(how.traceparent), std::move(how.baggage));
  running_bytes_ -= message->bytes();
  settle(message, said ? Result<>() : fail(said.error()));
}

Task<> Queue::deliver_topic(MessagePtr message, BoundTriggerPtr trigger) {
  const std::shared_ptr<Queue> self = shared_from_this();
  const Payload data = data_of(*message);
  // Triggers of one function are one subscriber, each of whose conditions may let a message in.
  std::set<std::string> asked;
  Result<bool> met = co_await shared_.bus.condition_met(trigger, data, options(*message));
  while (met && !*met) {
    asked.insert(condition_of(*trigger));
    BoundTriggerPtr next = consumer(asked);
    if (!next) break;
    trigger = std::move(next);
    met = co_await shared_.bus.condition_met(trigger, data, options(*message));
  }
  Result<> outcome = met ? Result<>() : fail(met.error());
  if (met && *met) {
    const Result<json::Value> said = co_await shared_.bus.run_trigger(trigger, data, options(*message));
    if (!said) outcome = fail(said.error());
  }
  running_bytes_ -= message->bytes();
  // The subscriber had gone before anything was called.
  const bool stopping = shared_.deliveries.stop_token().stop_requested();
  if (!outcome && !stopping && trigger->ended.stop_requested() &&
      outcome.error().detail("bus_code").empty()) {
    line_.park(message->seq, kSubscriber);
    if (consumer()) line_.wake(kSubscriber);
    pump_soon();
    co_return;
  }
  settle(message, outcome);
}

// An engine that stops leaves messages as they are on the disk, but for those that were handled all the same.
void Queue::settle(const MessagePtr& message, const Result<>& outcome) {
  if (!outcome && shared_.deliveries.stop_token().stop_requested()) return;
  if (outcome) {
    done(*message);
  } else if (never_begun(outcome.error())) {
    put_off(message);
  } else {
    failed(message, outcome.error());
  }
  pump_soon();
}

void Queue::done(Message& message) {
  shared_.handled.add();
  for (store::RecordChange& change : erase_message(message)) shared_.journal.later(std::move(change));
  line_.finish(message.seq);
  forget(message);
}

// The engine could not hand it over, as all who serve are busy, say. That is nothing the message did: it is tried again however often.
void Queue::put_off(const MessagePtr& message) {
  shared_.put_off.add();
  const UnixMs at = shared_.loop.clock().now() + policy_.retry_delay(message->attempts + 1).count();
  line_.retry(message->seq, at);
}

void Queue::failed(const MessagePtr& message, const Error& error) {
  const UnixMs now = shared_.loop.clock().now();
  shared_.failed.add();
  ++message->attempts;
  message->error = utf8::prefix(error.message, kMaxErrorBytes);
  if (message->attempts < policy_.max_attempts) {
    message->retry_at = now + policy_.retry_delay(message->attempts).count();
    line_.retry(message->seq, message->retry_at);
    shared_.journal.later(put_attempts(*message));
  } else {
    die(message, now);
  }
}

// What its sender may no longer do is not done; another attempt would change nothing.
void Queue::forbidden(const MessagePtr& message, std::string_view why) {
  ++message->attempts;
  message->error = fmt::format("FORBIDDEN: the token that this message was sent with {}", why);
  die(message, shared_.loop.clock().now());
}

void Queue::die(const MessagePtr& message, UnixMs now) {
  shared_.dead.add();
  message->died_at = now;
  line_.finish(message->seq);
  dead_.emplace(message->seq, message);
  log::warn("bus", "a queued message is dead",
            {{"queue", id_.name}, {"message", message->id}, {"error", message->error}});
  shared_.journal.later(put_attempts(*message));
}

}  // namespace chela::bus::queue
