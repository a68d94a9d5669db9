#include "runtime/clock.h"

#include <chrono>

namespace chela::runtime {

UnixMs SystemClock::now() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

SteadyTime SystemClock::steady() const { return std::chrono::steady_clock::now(); }

}  // namespace chela::runtime
