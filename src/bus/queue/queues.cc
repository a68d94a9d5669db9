#include "bus/queue/queues.h"

#include <algorithm>

#include "obs/log.h"

namespace chela::bus::queue {
namespace {

// Where the reference keeps its named queues; people may use that name too.
constexpr std::string_view kNamedPrefix = "__fn_queue::";

std::string topic_of(const json::Value& config) {
  std::string topic = config.string_or("topic");
  return topic.empty() ? config.string_or("queue") : topic;
}

QueueId id_of(const BoundTrigger& trigger) {
  return {.realm = trigger.rights.principal.realm,
          .user = trigger.rights.principal.user,
          .kind = QueueId::Kind::kTopic,
          .name = topic_of(trigger.config),
          .subscriber = trigger.function_id};
}

}  // namespace

Queues::Queues(runtime::EventLoop& loop, Bus& bus, obs::Metrics& metrics, runtime::IdSource& ids,
               Settings settings, Limits limits, RestoreRights restore)
    : ids_(ids), settings_(std::move(settings)), shared_(loop, bus, metrics, limits, std::move(restore)) {}

size_t Queues::messages() const {
  size_t count = 0;
  for (const auto& [id, queue] : queues_) count += queue->depth() + queue->dead_count();
  return count;
}

// --- start and stop

Task<Result<>> Queues::open(std::unique_ptr<store::Records> records) {
  if (!records) co_return Result<>{};
  shared_.journal.use(std::move(records));
  co_return co_await load();
}

Task<Result<>> Queues::load() {
  store::Records& records = *shared_.journal.records();
  Result<> read = co_await store::each_record(records, std::string(kSubscribers),
                                              [this](const store::Record& record) -> Result<> {
                                                Result<Subscription> subscription = read_subscription(record);
                                                if (!subscription) return fail(subscription.error());
                                                restore_subscription(std::move(*subscription));
                                                return {};
                                              });
  if (!read) co_return read;
  std::map<Seq, StoredMessage> messages;
  read = co_await store::each_record(records, std::string(kMessages),
                                     [&messages](const store::Record& record) -> Result<> {
                                       Result<StoredMessage> stored = read_message(record);
                                       if (!stored) return fail(stored.error());
                                       messages.emplace(stored->message->seq, std::move(*stored));
                                       return {};
                                     });
  if (!read) co_return read;
  read = co_await store::each_record(
      records, std::string(kAttempts), [&messages](const store::Record& record) -> Result<> {
        const Result<Seq> seq = read_seq(record);
        if (!seq) return fail(seq.error());
        const auto found = messages.find(*seq);
        return found == messages.end() ? Result<>() : read_attempts(record, *found->second.message);
      });
  if (!read) co_return read;
  for (auto& [seq, stored] : messages) {
    const auto [at, added] = queues_.try_emplace(stored.queue);
    if (added) at->second = std::make_shared<Queue>(shared_, stored.queue, policy_for(stored.queue));
    at->second->restore(std::move(stored.message));
    last_seq_ = seq;
  }
  if (!messages.empty())
    log::info("bus", "queues go on", {{"messages", messages.size()}, {"queues", queues_.size()}});
  co_return Result<>{};
}

void Queues::begin() {
  shared_.started = true;
  for (const auto& [id, queue] : queues_) queue->wake();
}

// Its subscriber has as long to come back as one that leaves now.
void Queues::restore_subscription(Subscription subscription) {
  const Result<Policy> policy = Policy::of_subscriber(subscription.config, settings_.topics);
  const auto queue = std::make_shared<Queue>(shared_, subscription.id, policy ? *policy : settings_.topics);
  queue->expect_until(shared_.loop.clock().now() + std::chrono::milliseconds(kSubscriptionGrace).count());
  queues_.emplace(std::move(subscription.id), queue);
}

Task<> Queues::stop() {
  stopped_ = true;
  shared_.deliveries.stop();
  co_await shared_.deliveries.join();
  co_await shared_.journal.close();
}

// --- queues

const Policy& Queues::policy_for(const QueueId& id) const {
  if (id.kind == QueueId::Kind::kTopic) return settings_.topics;
  const auto named = settings_.named.find(id.name);
  return named == settings_.named.end() ? settings_.topics : named->second;
}

// Those that nothing is in and nobody waits for.
void Queues::forget_unused() {
  const UnixMs now = shared_.loop.clock().now();
  std::erase_if(queues_, [&](const Map::value_type& each) {
    const bool unused = each.second->idle() && !each.second->expected(now);
    if (unused && !each.first.subscriber.empty()) shared_.journal.later(erase_subscription(each.first));
    return unused;
  });
}

Result<std::shared_ptr<Queue>> Queues::queue(const QueueId& id) {
  if (const auto found = queues_.find(id); found != queues_.end()) return found->second;
  if (id.name.empty() || id.name.size() > kMaxNameBytes)
    return fail(Code::kInvalidArgument, "a queue's or topic's name must have 1 to {} bytes", kMaxNameBytes);
  const Limits& limits = shared_.limits;
  const std::shared_ptr<Holding> holding = shared_.holding_of(id);
  const auto full = [&] { return queues_.size() >= limits.queues || holding->queues >= limits.user_queues; };
  if (full()) forget_unused();
  if (queues_.size() >= limits.queues)
    return fail(Code::kRateLimited, "there are {} queues, which is the limit", queues_.size());
  if (holding->queues >= limits.user_queues)
    return fail(Code::kRateLimited, "{} has {} queues, which is the limit", id.user, holding->queues);
  return queues_.emplace(id, std::make_shared<Queue>(shared_, id, policy_for(id))).first->second;
}

std::vector<std::shared_ptr<Queue>> Queues::topic_queues(const std::string& realm, const std::string& user,
                                                         const std::string& topic) {
  std::vector<std::shared_ptr<Queue>> found;
  const QueueId first{.realm = realm, .user = user, .kind = QueueId::Kind::kTopic, .name = topic};
  for (auto at = queues_.lower_bound(first); at != queues_.end(); ++at) {
    const QueueId& id = at->first;
    if (id.realm != realm || id.user != user || id.kind != first.kind || id.name != topic) break;
    found.push_back(at->second);
  }
  return found;
}

bool Queues::accepts(const Queue& queue) const {
  if (queue.id().kind == QueueId::Kind::kNamed) return settings_.named.contains(queue.id().name);
  return queue.expected(shared_.loop.clock().now());
}

std::vector<std::shared_ptr<Queue>> Queues::find(const Owner& owner, std::string_view name, Prefer prefer) {
  const auto named = [&]() -> std::vector<std::shared_ptr<Queue>> {
    std::string_view plain = name;
    if (plain.starts_with(kNamedPrefix)) plain.remove_prefix(kNamedPrefix.size());
    const QueueId id{.realm = owner.realm, .user = owner.user, .name = std::string(plain)};
    if (const auto found = queues_.find(id); found != queues_.end()) return {found->second};
    if (!settings_.named.contains(plain)) return {};
    const Result<std::shared_ptr<Queue>> made = queue(id);
    return made ? std::vector{*made} : std::vector<std::shared_ptr<Queue>>();
  };
  const auto topic = [&] { return topic_queues(owner.realm, owner.user, std::string(name)); };
  std::vector<std::shared_ptr<Queue>> found = prefer == Prefer::kNamed ? named() : topic();
  if (found.empty()) found = prefer == Prefer::kNamed ? topic() : named();
  return found;
}

std::vector<std::shared_ptr<Queue>> Queues::all_of(const Owner& owner) {
  for (const auto& [name, policy] : settings_.named) find(owner, name, Prefer::kNamed);
  std::vector<std::shared_ptr<Queue>> all;
  for (auto at = queues_.lower_bound({.realm = owner.realm, .user = owner.user, .name = ""});
       at != queues_.end() && at->first.realm == owner.realm && at->first.user == owner.user; ++at) {
    all.push_back(at->second);
  }
  return all;
}

// --- subscribers

Result<> Queues::subscribe(BoundTriggerPtr trigger) {
  if (stopped_) return fail(Code::kUnavailable, "the engine stops");
  Result<Policy> policy = Policy::of_subscriber(trigger->config, settings_.topics);
  if (!policy) return fail(policy.error());
  const QueueId id = id_of(*trigger);
  if (!queues_.contains(id) && topic_queues(id.realm, id.user, id.name).size() >= kMaxSubscribers)
    return fail(Code::kTooLarge, "a topic has {} subscribers at most", kMaxSubscribers);
  const Result<std::shared_ptr<Queue>> own = queue(id);
  if (!own) return fail(own.error());
  (*own)->set_policy(std::move(*policy));
  shared_.journal.later(put_subscription({.id = id, .config = trigger->config}));
  (*own)->subscribe(std::move(trigger));
  claim(id);
  return {};
}

// What came before anybody subscribed goes to the first who does.
void Queues::claim(const QueueId& id) {
  std::vector<std::shared_ptr<Queue>> all = topic_queues(id.realm, id.user, id.name);
  if (all.size() < 2 || !all.front()->id().subscriber.empty() || all.front()->idle()) return;
  const auto first =
      std::ranges::find_if(all, [](const std::shared_ptr<Queue>& each) { return each->consumers() > 0; });
  if (first == all.end()) return;
  all.front()->move_all(**first);
  (*first)->pump_soon();
}

// A subscription ends when it is taken back; a connection that breaks does not end it.
void Queues::unsubscribe(const BoundTrigger& trigger) {
  if (stopped_) return;
  const auto found = queues_.find(id_of(trigger));
  if (found == queues_.end()) return;
  Queue& queue = *found->second;
  queue.unsubscribe(trigger);
  if (queue.consumers() > 0) return;
  if (trigger.owner->link == nullptr) {
    queue.expect_until(shared_.loop.clock().now() + std::chrono::milliseconds(kSubscriptionGrace).count());
    return;
  }
  queue.expect_until(0);
  shared_.journal.later(erase_subscription(found->first));
  if (queue.idle()) queues_.erase(found);
}

// Functions come in bursts.
void Queues::functions_changed() {
  if (stopped_ || std::exchange(wake_posted_, true)) return;
  shared_.loop.post([this, weak = std::weak_ptr(alive_)] {
    if (weak.expired()) return;
    wake_posted_ = false;
    for (const auto& [id, queue] : queues_) {
      if (queue->waits_for_functions()) queue->wake();
    }
  });
}

}  // namespace chela::bus::queue
