#pragma once

#include <cstddef>
#include <cstdint>

// The limits of what modules keep for their callers: state, streams, key/value.
namespace chela::bus::items {

inline constexpr size_t kMaxItemBytes = 4 * 1024 * 1024;     // of one value, as JSON text, unless configured
inline constexpr size_t kMostItemBytes = 8 * 1024 * 1024;    // that can be configured; no frame has more
inline constexpr size_t kMaxItemKeyBytes = 1024;             // of a key, and of a group
inline constexpr size_t kMaxItems = 1'000'000;               // of one user in one module
inline constexpr size_t kMaxItemsBytes = 512 * 1024 * 1024;  // of their groups, keys and values together
inline constexpr size_t kMaxListBytes = 16 * 1024 * 1024;    // of one answer with many values or names

// iii's interval between two saves: accepted, and without effect as every change is saved at once.
inline constexpr std::int64_t kSaveIntervalMs = 5000;
inline constexpr std::int64_t kMaxSaveIntervalMs = 24LL * 60 * 60 * 1000;

// One update
inline constexpr size_t kMaxUpdateOps = 1000;
inline constexpr size_t kMaxPathSegments = 32;
inline constexpr size_t kMaxPathSegmentBytes = 256;
inline constexpr size_t kMaxMergeDepth = 16;     // of a merged value
inline constexpr size_t kMaxMergeKeys = 1024;    // of a merged value, at its top
inline constexpr size_t kMaxUpdatedDepth = 100;  // of a value at its path; deeper JSON would not be read back
inline constexpr size_t kMaxUpdateWork = 16'000'000;  // members and elements looked at

}  // namespace chela::bus::items
