#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace chela {

// Ids are UUIDv7 as lower-case text; foreign ids are opaque text of at most kMaxForeignIdBytes.

// Formats a UUIDv7 (RFC 9562) from a Unix time in milliseconds, a 12-bit counter that orders ids of one millisecond, and eight
// random bytes.
std::string format_uuid_v7(std::int64_t unix_ms, std::uint16_t counter,
                           const std::array<std::byte, 8>& random);

// True for 8-4-4-4-12 lower- or upper-case hex with dashes.
bool is_uuid(std::string_view text);

// True for 1..kMaxForeignIdBytes bytes of valid UTF-8 without control characters.
bool is_foreign_id(std::string_view text);

}  // namespace chela
