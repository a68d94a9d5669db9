#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/events.h"
#include "base/limits.h"
#include "base/result.h"
#include "base/scope.h"
#include "base/strings.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "store/turn_log_store.h"

namespace chela::agent {

struct MappedEvent;

// Where an event stands: a record's place in the log and the number of deltas since it.
struct Place {
  std::int64_t record = 0;
  std::int64_t delta = 0;
  auto operator<=>(const Place&) const = default;

  std::string text() const { return fmt::format("{}.{}", record, delta); }
  static std::optional<Place> parse(std::string_view text);
};

// Carries committed records and running deltas to subscribers. Loop thread only; owned by the engine and outlives its subscriptions.
// A user's stream counts records by `pos`, a thread's by `seq`; apart from that they are the same stream. Deltas are provisional: those of a
// running model call are kept in a bounded ring until the call's answer is in the log.
class Hub {
 public:
  Hub(runtime::EventLoop& loop, store::TurnLogStore& log, size_t max_subscribers = kMaxEventSubscribers,
      size_t subscriber_queue = kMaxSubscriberQueue, size_t ring = kMaxDeltaRing);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Records that are committed, in commit order.
  void publish(const Scope& scope, const std::vector<store::LogRecord>& records);

  // Something live watchers of the thread are told that is in no record: who is not there misses it.
  void announce(const Scope& scope, const std::string& thread, MappedEvent event);

  enum class Attempt {
    kFirst,
    kRepeated
  };  // repeated: clients may hold text of an attempt that a crash ended
  // A running model call's text, once for each ModelRequested that is logged. A call ends when its ModelAnswered or the end of its turn is
  // published, or with end_call when it was given up.
  void begin_call(const Scope& scope, const std::string& thread, const std::string& turn, Attempt attempt);
  void delta(const Scope& scope, const std::string& thread, const std::string& text);
  // The text so far is void: the call's answer begins anew.
  void reset_call(const Scope& scope, const std::string& thread);
  void end_call(const Scope& scope, const std::string& thread);
  // Of a thread whose records will never be published.
  void forget_calls(const Scope& scope, const std::string& thread);

  // A place in the stream of the user, or of one thread. `last_event_id` "" = from now on.
  Task<Result<std::unique_ptr<Subscription>>> subscribe(Scope scope, std::string thread,
                                                        std::string last_event_id);

  // Those that are there stay.
  void set_max_subscribers(size_t count) { max_subscribers_ = count; }

  // Ends all subscriptions.
  void close();
  size_t subscribers() const;

 private:
  friend class Subscriber;
  struct Call;
  struct User;

  User& user(const Scope& scope);
  void drop_idle(const Scope& scope);
  void follow_calls(User& user, const store::LogRecord& record);
  void show(User& user, Call& call, const store::LogRecord& record);
  void keep(User& user, Call& call, MappedEvent event);

  runtime::EventLoop& loop_;
  store::TurnLogStore& log_;
  size_t max_subscribers_;
  const size_t subscriber_queue_;
  const size_t ring_;
  std::unordered_map<std::string, std::unique_ptr<User>, strings::Hash, std::equal_to<>> users_;
};

}  // namespace chela::agent
