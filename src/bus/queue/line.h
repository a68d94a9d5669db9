#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"

namespace chela::bus::queue {

// The number of a message, over all queues; later ones are higher.
using Seq = std::uint64_t;

// What a line must know of a message.
struct Ticket {
  Seq seq = 0;
  std::optional<std::string> group =
      std::nullopt;  // messages of a group run one after the other; nothing: alone
  int priority = 0;  // higher ones first
  UnixMs not_before = 0;
};

// Whose turn it is: a state machine without I/O. Knows numbers only; time comes in. A message waits (ready, delayed, behind others of its
// group, or parked until something happens) or runs.
class Line {
 public:
  // At most so many run at once.
  explicit Line(size_t concurrency) : concurrency_(concurrency) {}
  void set_concurrency(size_t concurrency) { concurrency_ = concurrency; }

  void add(Ticket ticket);
  // The next message, which runs from now on; nothing when none is ready or as many run as may. By priority, then in order.
  std::optional<Seq> take(UnixMs now);

  // Of messages that run:
  void finish(Seq seq);                        // it is done with, in one way or another
  void retry(Seq seq, UnixMs not_before);      // it waits again, in its place
  void park(Seq seq, std::string_view until);  // it waits until wake(until)

  void wake(std::string_view until);
  // What messages are parked for.
  std::vector<std::string> parked() const;

  // When take() will have something that it has not now; nothing while all may run or none is delayed.
  std::optional<UnixMs> next_at() const;
  bool has_ready() const { return !ready_.empty() && running_ < concurrency_; }
  size_t size() const { return entries_.size(); }
  size_t running() const { return running_; }
  size_t groups() const { return groups_.size(); }

 private:
  using Key = std::pair<std::int64_t, Seq>;  // less comes first
  struct Entry {
    Ticket ticket;
    bool running = false;
  };

  void offer(const Ticket& ticket);
  static Key ready_key(const Ticket& ticket) {
    return {-static_cast<std::int64_t>(ticket.priority), ticket.seq};
  }

  size_t concurrency_;
  size_t running_ = 0;
  std::unordered_map<Seq, Entry> entries_;
  std::set<Key> ready_;                                         // by priority
  std::set<Key> delayed_;                                       // by time
  std::map<std::string, std::deque<Seq>, std::less<>> groups_;  // only the first of each is offered
  std::map<std::string, std::set<Seq>, std::less<>> parked_;
};

}  // namespace chela::bus::queue
