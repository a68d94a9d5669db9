#pragma once

#include <string_view>

namespace chela::agent {

enum class CrashSide { kBefore, kAfter };  // of the record's being on disk

// In builds with CHELA_CRASH_POINTS: kills the process at once when CHELA_CRASH_AT=<record kind>:<n>:<before|after> names this, the n-th
// (from 1) record of the kind. Nothing in other builds.
void crash_point(std::string_view kind, CrashSide side);

}  // namespace chela::agent
