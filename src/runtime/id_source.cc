#include "runtime/id_source.h"

#include <sys/random.h>

#include <array>

#include "base/check.h"
#include "base/ids.h"

namespace chela::runtime {
namespace {

template <class T>
T random_bytes() {
  T value{};
  CHELA_CHECK(getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value), "getrandom failed");
  return value;
}

}  // namespace

std::string RandomIdSource::next() {
  const auto random = random_bytes<std::array<std::byte, 8>>();
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

std::uint64_t RandomIdSource::random() { return random_bytes<std::uint64_t>(); }

}  // namespace chela::runtime
