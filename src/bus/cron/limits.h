#pragma once

#include <chrono>
#include <cstddef>

namespace chela::bus::cron {

inline constexpr size_t kMaxExpressionBytes = 256;
inline constexpr int kFirstYear = 1970;
inline constexpr int kLastYear = 2100;
inline constexpr size_t kMaxJobs = 10'000;                  // of all users
inline constexpr size_t kMaxUserJobs = kMaxJobs / 4;        // of one
inline constexpr size_t kMaxJobRecords = 20'000;            // last runs kept on disk; then the oldest go
inline constexpr auto kLateRun = std::chrono::seconds(60);  // a run that is later than this counts as missed
inline constexpr auto kClockStep =
    std::chrono::hours(1);  // how far a clock is believed to have been put back
inline constexpr auto kClockCheck =
    std::chrono::seconds(30);  // how long a timer sleeps at most, as the system's clock may be set

}  // namespace chela::bus::cron
