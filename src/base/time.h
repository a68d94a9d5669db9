#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace chela {

// Milliseconds since 1970-01-01T00:00:00Z, in memory and in every database.
using UnixMs = std::int64_t;

using SteadyTime = std::chrono::steady_clock::time_point;

// "2026-11-22T10:00:00.000Z"
std::string format_rfc3339(UnixMs time);

// Accepts RFC 3339 with any offset and 0..9 fractional digits.
Result<UnixMs> parse_rfc3339(std::string_view text);

// "30s", "250ms", "5m", "2h", "7d"; a bare number is refused.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string format_duration(std::chrono::milliseconds duration);

// A day of the proleptic Gregorian calendar in UTC.
struct CivilTime {
  int year, month, day, hour, minute, second, millisecond;
  int weekday;  // 0 = Sunday
};
CivilTime to_civil(UnixMs time);
UnixMs from_civil(const CivilTime& civil);  // weekday is ignored

}  // namespace chela
