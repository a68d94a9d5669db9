#pragma once

#include <cstddef>

namespace chela::llm::wire {

inline constexpr size_t kMaxEventBytes = 4 * 1024 * 1024;  // one event of an answer: a line or a frame

}  // namespace chela::llm::wire
