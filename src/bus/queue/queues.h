#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bus/queue/queue.h"
#include "runtime/id_source.h"

namespace chela::bus::queue {

struct Settings {
  Policy topics;                                          // of subscribers that say nothing themselves
  std::map<std::string, Policy, std::less<>> named = {};  // `default` is always among them
};

// All queues of all users: what is put into them, who subscribes, what is dead. A topic has a queue for each subscribing function, which
// outlives the function's connection; what nobody subscribes to yet waits for the first one. Loop thread only; its owner awaits stop().
class Queues {
 public:
  using Owner = op::Principal;  // only realm and user are looked at

  // `restore` says whether the token behind a message is still good.
  Queues(runtime::EventLoop& loop, Bus& bus, obs::Metrics& metrics, runtime::IdSource& ids, Settings settings,
         Limits limits = {}, RestoreRights restore = {});

  // Reads what is stored and goes on with it. Without records everything is lost with the process.
  Task<Result<>> open(std::unique_ptr<store::Records> records);
  // Hands out what there is from now on: all who may be called are there.
  void begin();
  // Calls under way are given up and count as not made; completions are written.
  Task<> stop();

  // Puts a call into a named queue; gives its receipt, which is `id` or a new one, once it is on the disk. kNotFound for an unknown queue,
  // kInvalidArgument without a fifo queue's group, kRateLimited when it is full.
  Task<Result<std::string>> enqueue(Owner sender, EnqueueRequest request, std::string id);
  // Gives a message to every subscriber of a topic; it is on the disk when this returns, for all or for none. Only one that is away and
  // whose queue is full misses it: nobody else is kept from his messages by it.
  Task<Result<>> publish(Owner sender, std::string topic, json::Value data, std::string traceparent,
                         std::string baggage);

  Result<> subscribe(BoundTriggerPtr trigger);
  void unsubscribe(const BoundTrigger& trigger);
  void functions_changed();

  // What a name stands for: a named queue, or all subscribers of a topic. Empty when there is no such thing.
  enum class Prefer { kNamed, kTopic };
  std::vector<std::shared_ptr<Queue>> find(const Owner& owner, std::string_view name, Prefer prefer);
  // All queues of a user that have ever been used, and those that the configuration names.
  std::vector<std::shared_ptr<Queue>> all_of(const Owner& owner);
  bool accepts(const Queue& queue) const;  // whether new messages come to it

  const Settings& settings() const { return settings_; }
  size_t size() const { return queues_.size(); }
  size_t bytes() const { return shared_.bytes; }
  size_t messages() const;
  size_t running() const { return shared_.deliveries.running(); }

 private:
  using Map = std::map<QueueId, std::shared_ptr<Queue>>;

  Task<Result<>> load();
  void restore_subscription(Subscription subscription);
  Result<std::shared_ptr<Queue>> queue(const QueueId& id);
  std::vector<std::shared_ptr<Queue>> topic_queues(const std::string& realm, const std::string& user,
                                                   const std::string& topic);
  const Policy& policy_for(const QueueId& id) const;
  void claim(const QueueId& subscriber);
  void forget_unused();

  runtime::IdSource& ids_;
  const Settings settings_;
  Shared shared_;
  Map queues_;
  Seq last_seq_ = 0;
  bool wake_posted_ = false;
  bool stopped_ = false;
  std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);  // for callbacks on the loop
};

}  // namespace chela::bus::queue
