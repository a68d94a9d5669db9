#include "runtime/id_source.h"

#include <sys/random.h>

#include <array>
#include <bit>

#include "base/check.h"
#include "base/ids.h"

namespace chela::runtime {
namespace {

using Random = std::array<std::byte, 8>;

// Random bytes that a thread has in hand. Drawn for many ids at once: a system call for each would be a tenth of what a call over the bus
// costs.
struct Drawn {
  std::array<Random, 32> all{};  // 256 bytes: so many come whole
  size_t left = 0;
};

Random random_bytes() {
  thread_local Drawn drawn;
  if (drawn.left == 0) {
    CHELA_CHECK(getrandom(drawn.all.data(), sizeof drawn.all, 0) == static_cast<ssize_t>(sizeof drawn.all),
                "getrandom failed");
    drawn.left = drawn.all.size();
  }
  return drawn.all[--drawn.left];
}

}  // namespace

std::string RandomIdSource::next() {
  const Random random = random_bytes();
  const std::lock_guard lock(mutex_);
  const UnixMs now = clock_.now();
  if (now > last_ms_) {
    last_ms_ = now;
    counter_ = 0;
  } else if (++counter_ == 0x1000) {
    // More than 4096 ids in a millisecond, or a clock set back: borrow from the future to stay ordered.
    ++last_ms_;
    counter_ = 0;
  }
  return format_uuid_v7(last_ms_, counter_, random);
}

std::uint64_t RandomIdSource::random() { return std::bit_cast<std::uint64_t>(random_bytes()); }

}  // namespace chela::runtime
