#pragma once

#include <cstddef>

namespace chela::bus::pubsub {

inline constexpr size_t kMaxTopicBytes = 256;
inline constexpr size_t kMaxSubscribers = 4096;  // of one topic of one user

}  // namespace chela::bus::pubsub
