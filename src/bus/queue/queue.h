#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bus/bus.h"
#include "bus/module.h"
#include "bus/queue/journal.h"
#include "bus/queue/limits.h"
#include "bus/queue/line.h"
#include "bus/queue/message.h"
#include "bus/queue/policy.h"
#include "obs/metrics.h"
#include "runtime/task_group.h"

namespace chela::bus::queue {

// How much is kept; tests reach smaller ones.
struct Limits {
  size_t queues = kMaxQueues;
  size_t messages = kMaxMessages;
  size_t queue_bytes = kMaxQueueBytes;
  size_t total_bytes = kMaxTotalBytes;
  size_t user_queues = kMaxUserQueues;
  size_t user_bytes = kMaxUserBytes;
};

// What one user has of all that is kept. Shared by the user's queues.
struct Holding {
  size_t queues = 0;
  size_t bytes = 0;
};

// What all queues of an engine share.
struct Shared {
  runtime::EventLoop& loop;
  Bus& bus;
  Limits limits;
  Journal journal;
  runtime::TaskGroup deliveries;
  size_t bytes = 0;      // of all messages
  bool started = false;  // nothing is handed to anybody before all modules are there
  obs::Counter& handled;
  obs::Counter& failed;
  obs::Counter& put_off;
  obs::Counter& dead;
  obs::Counter& missed;

  Shared(runtime::EventLoop& l, Bus& b, obs::Metrics& metrics, Limits given, RestoreRights restores);

  std::shared_ptr<Holding> holding_of(const QueueId& id);
  // Whether the token that a message was sent with is still good: kUnauthenticated when not, another error when nobody can say.
  Task<Result<>> still_good(std::shared_ptr<const op::Principal> sender);

 private:
  const RestoreRights restore_;
  std::map<std::string, Rights> known_;  // by token
  std::map<std::pair<std::string, std::string>, std::weak_ptr<Holding>> holdings_;
};

// One queue: hands its messages to functions as its policy says, each until it was handled or is dead. Shared with its own callbacks on the
// loop. Loop thread only.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(Shared& shared, QueueId id, Policy policy);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const QueueId& id() const { return id_; }
  const Policy& policy() const { return policy_; }
  void set_policy(Policy policy);

  // Makes room for a message before it is written; kRateLimited when the queue or all queues are full. Then either add() or give_back().
  Result<> reserve(size_t bytes);
  void give_back(size_t bytes);
  // A message that is on the disk, for which room was made, waits from now on.
  void add(MessagePtr message);
  // One that was read from the disk; there is room for it whatever the limits say.
  void restore(MessagePtr message);
  // Gives all messages to another queue of the same topic.
  void move_all(Queue& to);

  // Of a topic: who is called.
  void subscribe(BoundTriggerPtr trigger);
  void unsubscribe(const BoundTrigger& trigger);
  size_t consumers() const { return consumers_.size(); }
  bool has_live_consumer() const { return consumer() != nullptr; }
  // While true, messages are kept for the subscriber although nobody of its may be there.
  bool expected(UnixMs now) const { return !consumers_.empty() || now < expected_until_; }
  void expect_until(UnixMs until) { expected_until_ = until; }

  // A function may have come that messages wait for.
  void wake();
  bool waits_for_functions() const { return !line_.parked().empty(); }
  // Starts what may run, from the loop.
  void pump_soon();

  // What becomes of dead messages: back to the line as new, or thrown away.
  enum class Fate { kRedrive, kDiscard };
  // Gives how many. Durable when it returns; kMaxDeadPerCommit at a time, so an error may come when some are done.
  Task<Result<size_t>> take_dead(std::vector<MessagePtr> messages, Fate fate);
  const std::map<Seq, MessagePtr>& dead() const { return dead_; }
  std::vector<MessagePtr> all_dead() const;                 // in the order they came
  MessagePtr find_dead(std::string_view message_id) const;  // null when there is none

  size_t depth() const { return line_.size(); }
  size_t running() const { return line_.running(); }
  size_t dead_count() const { return dead_.size(); }
  size_t bytes() const { return bytes_; }
  bool idle() const { return messages_.empty() && reserved_ == 0 && consumers_.empty(); }

 private:
  void enter_line(const MessagePtr& message);
  void pump();
  void set_timer();
  bool holds_enough() const { return running_bytes_ >= kMaxRunningBytes; }
  void start(MessagePtr message);
  Task<> deliver_named(MessagePtr message);
  Task<> deliver_topic(MessagePtr message, BoundTriggerPtr trigger);
  // One who is there, with another condition than those that have been asked.
  BoundTriggerPtr consumer(const std::set<std::string>& asked = {}) const;
  void settle(const MessagePtr& message, const Result<>& outcome);
  void done(Message& message);
  void put_off(const MessagePtr& message);
  void forget(const Message& message);
  void failed(const MessagePtr& message, const Error& error);
  void forbidden(const MessagePtr& message, std::string_view why);
  void count(size_t bytes);
  void discount(size_t bytes);
  void die(const MessagePtr& message, UnixMs now);
  void leave_dead(const MessagePtr& message, Fate fate);
  FireOptions options(const Message& message) const;

  Shared& shared_;
  const QueueId id_;
  const std::shared_ptr<Holding> holding_;
  Policy policy_;
  Line line_;
  std::map<Seq, MessagePtr> messages_;  // all
  std::map<Seq, MessagePtr> dead_;      // of them
  size_t reserved_ = 0;                 // messages that are being written
  size_t bytes_ = 0;                    // of all of these
  size_t running_bytes_ = 0;            // of those that run
  std::vector<BoundTriggerPtr> consumers_;
  UnixMs expected_until_ = 0;
  std::optional<runtime::TimerId> timer_;
  UnixMs timer_at_ = 0;
  bool pump_posted_ = false;
};

}  // namespace chela::bus::queue
