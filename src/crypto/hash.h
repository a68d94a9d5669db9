#pragma once

#include <string>
#include <string_view>

// Hashes over whole byte strings. Secrets are compared with strings::constant_time_equals.
namespace chela::crypto {

std::string sha256(std::string_view bytes);                             // 32 raw bytes
std::string sha256_hex(std::string_view bytes);                         // 64 lower-case hex digits
std::string hmac_sha256(std::string_view key, std::string_view bytes);  // 32 raw bytes, a key of any length

// The address of a blob: BLAKE2b-256 as 64 lower-case hex digits.
std::string content_hash(std::string_view bytes);

std::string to_hex(std::string_view bytes);

}  // namespace chela::crypto
