#include "obs/ring.h"

#include <algorithm>

#include "base/limits.h"

namespace chela::log {

void Ring::add(Entry entry) {
  {
    const std::lock_guard lock(mutex_);
    entry.number = ++last_;
    entries_.push_back(std::move(entry));
    if (entries_.size() > kLogRingEntries) entries_.pop_front();
  }
  const std::lock_guard lock(followers_mutex_);
  for (const Follower* follower : followers_) follower->on_line_();
}

std::vector<Entry> Ring::recent(std::uint64_t after, size_t limit) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first = last_ - entries_.size() + 1;  // of those kept
  size_t skip = after >= first ? static_cast<size_t>(after - first + 1) : 0;
  if (skip >= entries_.size()) return {};
  if (entries_.size() - skip > limit) skip = entries_.size() - limit;
  return {entries_.begin() + static_cast<std::ptrdiff_t>(skip), entries_.end()};
}

void Ring::follow(Follower& follower) {
  const std::lock_guard lock(followers_mutex_);
  followers_.push_back(&follower);
}

void Ring::leave(Follower& follower) {
  const std::lock_guard lock(followers_mutex_);
  std::erase(followers_, &follower);
}

}  // namespace chela::log
