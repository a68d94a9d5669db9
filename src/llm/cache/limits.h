#pragma once

#include <cstddef>

namespace chela::llm::cache {

constexpr std::size_t kMaxCachedAnswerBytes = 256 * 1024;  // a longer one is not kept

}  // namespace chela::llm::cache
