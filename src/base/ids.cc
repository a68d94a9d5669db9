#include "base/ids.h"

#include "base/limits.h"
#include "base/utf8.h"

namespace chela {
namespace {

constexpr char kHex[] = "0123456789abcdef";

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

std::string format_uuid_v7(std::int64_t unix_ms, std::uint16_t counter,
                           const std::array<std::byte, 8>& random) {
  std::array<std::uint8_t, 16> b{};
  for (int i = 0; i < 6; ++i) b[static_cast<size_t>(i)] = static_cast<std::uint8_t>(unix_ms >> (40 - 8 * i));
  b[6] = static_cast<std::uint8_t>(0x70 | ((counter >> 8) & 0x0f));
  b[7] = static_cast<std::uint8_t>(counter & 0xff);
  for (size_t i = 0; i < 8; ++i) b[8 + i] = std::to_integer<std::uint8_t>(random[i]);
  b[8] = static_cast<std::uint8_t>(0x80 | (b[8] & 0x3f));
  std::string out;
  out.reserve(36);
  for (size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kHex[b[i] >> 4];
    out += kHex[b[i] & 15];
  }
  return out;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < 36; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

bool is_foreign_id(std::string_view text) {
  if (text.empty() || text.size() > kMaxForeignIdBytes || !utf8::valid(text)) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

}  // namespace chela
