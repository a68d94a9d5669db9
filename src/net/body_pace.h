#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "base/time.h"
#include "net/limits.h"

namespace chela::net {

// How long a client is still waited for while its body comes: `most` at first and at no time more. Waiting uses it up, and what comes
// gives back the time that it takes at the slowest rate. Time in which nobody waits for the client is not its own.
class BodyPace {
 public:
  explicit BodyPace(SteadyTime::duration most) : most_(most), left_(most) {}

  // It is the client's turn, perhaps since before: when its time is over.
  SteadyTime wait(SteadyTime now) {
    if (!since_) since_ = now;
    return *since_ + left_;
  }
  // It is not.
  void pause(SteadyTime now) {
    if (since_) left_ -= std::min(left_, now - *since_);
    since_.reset();
  }
  void came(SteadyTime now, size_t bytes) {
    pause(now);
    const std::chrono::duration<double> worth(static_cast<double>(bytes) / kSlowestBodyRate);
    left_ = std::min(most_, left_ + std::chrono::ceil<SteadyTime::duration>(worth));
  }

 private:
  const SteadyTime::duration most_;
  SteadyTime::duration left_;
  std::optional<SteadyTime> since_;
};

}  // namespace chela::net
