#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "obs/log.h"

namespace chela::log {

// The newest lines, for those who look at the log from outside. Thread-safe.
class Ring {
 public:
  void add(Entry entry);  // its number is given here
  std::vector<Entry> recent(std::uint64_t after, size_t limit) const;

  void follow(Follower& follower);
  void leave(Follower& follower);

 private:
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::uint64_t last_ = 0;
  std::mutex followers_mutex_;  // held while they are called, so that one that has left is not called
  std::vector<Follower*> followers_;
};

}  // namespace chela::log
