#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace chela::store::sqlite {

// A count for LIMIT, where a negative number would mean "all".
inline std::int64_t sql_limit(std::size_t limit) {
  return static_cast<std::int64_t>(
      std::min(limit, static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())));
}

}  // namespace chela::store::sqlite
