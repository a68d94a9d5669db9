#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/event_loop.h"

struct epoll_event;

namespace chela::runtime {

// The descriptors that a loop watches, with at most one callback for each side of each. What a descriptor is watched for stays with the
// kernel while somebody waits for it again before the next look, so that reading message after message costs no call but the reading.
// Owned by its loop, loop thread only.
class Epoll {
  struct Slot {
    std::uint32_t turn = 0;     // of the descriptor that has this number now; 0: none has
    std::uint32_t watched = 0;  // what the kernel was told
    bool parked = true;         // the kernel does not watch it at all
    std::array<Callback, 2> callbacks;
  };

 public:
  enum class Side { kRead, kWrite };
  using Key = std::uint64_t;

  Epoll();
  ~Epoll();
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;

  // The descriptor must stay open until remove(); after that no callback of it comes any more. Whoever had its number before has closed it.
  Key add(int fd);
  void remove(Key key);
  // Calls back once when the descriptor is ready; an error or a hang-up is both, and so is what epoll does not take. A second wait
  // replaces the callback of the first.
  void wait(Key key, Side side, Callback callback);
  void cancel(Key key, Side side);
  // A descriptor that only ends look() whenever it has become readable anew. For good.
  void add_alarm(int fd);
  // Forgets all descriptors.
  void clear() { const std::vector<Slot> gone = std::exchange(slots_, {}); }

  // Asks the kernel what is ready, for which it waits when told so. Not before next() has no more.
  enum class Patience { kNone, kEndless };
  void look(Patience patience);
  // One callback of those that are ready; null when there are no more. It may do anything here but look().
  Callback next();

 private:
  Slot* slot_of(Key key);
  bool tell(int operation, Key key, std::uint32_t events) const;
  bool watch(Key key, Slot& slot, std::uint32_t events);
  void park(Key key, Slot& slot);
  void drop_written();
  Callback refused();

  const int epoll_;
  std::vector<Slot> slots_;  // by descriptor
  std::uint32_t turns_ = 0;
  std::vector<epoll_event> ready_;
  size_t at_ = 0;     // of those ready
  size_t count_ = 0;  // of those ready
  Key written_ = 0;   // whose write callback ran last: nearly nobody waits to write twice
  std::vector<std::pair<Key, Side>> refused_;      // by epoll since the last look
  std::vector<std::pair<Key, Side>> refused_now_;  // before it
};

}  // namespace chela::runtime
