#pragma once

#include <mutex>
#include <string>

#include "runtime/clock.h"

namespace chela::runtime {

// Where new ids and random numbers come from. An input like time: tests and replay give their own. Thread-safe.
class IdSource {
 public:
  virtual ~IdSource() = default;
  virtual std::string next() = 0;      // a UUIDv7
  virtual std::uint64_t random() = 0;  // uniform; for jitter, not for secrets
};

// UUIDv7 from the clock and the kernel's random bytes; ids of one process are ordered.
class RandomIdSource final : public IdSource {
 public:
  explicit RandomIdSource(const Clock& clock) : clock_(clock) {}
  std::string next() override;
  std::uint64_t random() override;

 private:
  const Clock& clock_;
  std::mutex mutex_;
  UnixMs last_ms_ = 0;
  std::uint16_t counter_ = 0;
};

}  // namespace chela::runtime
