#pragma once

#include "base/time.h"

namespace chela::runtime {

// The only reader of time in the process: the system clock for what people and stores see, the steady clock for deadlines.
// Thread-safe. Tests use testing::ManualLoop, whose clock stands still until told.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual UnixMs now() const = 0;
  virtual SteadyTime steady() const = 0;
};

class SystemClock final : public Clock {
 public:
  UnixMs now() const override;
  SteadyTime steady() const override;
};

}  // namespace chela::runtime
