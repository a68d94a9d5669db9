#include "base/utf8.h"

#include <array>
#include <cstring>

namespace chela::utf8 {
namespace {

unsigned char byte(std::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

struct Unit {
  size_t bytes;  // read, at least 1
  bool ok;
  bool cut;  // ill-formed only because the text ends here
};

// Reads one character at `i` by the table of well-formed sequences (Unicode 15, table 3-7).
Unit read(std::string_view text, size_t i) {
  const unsigned char lead = byte(text, i);
  if (lead < 0x80) return {1, true, false};
  size_t need = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    need = 1;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    need = 2;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    need = 3;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return {1, false, false};
  }
  for (size_t k = 1; k <= need; ++k) {
    if (i + k >= text.size()) return {k, false, true};
    const unsigned char c = byte(text, i + k);
    if (c < low || c > high) return {k, false, false};
    low = 0x80;
    high = 0xbf;
  }
  return {need + 1, true, false};
}

constexpr std::uint64_t kHighBits = 0x8080808080808080;
constexpr size_t kWideBytes = 64;

// Whether kWideBytes bytes are; a few instructions where registers are wide.
bool ascii(const char* bytes) {
  std::array<std::uint64_t, kWideBytes / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), bytes, kWideBytes);
  std::uint64_t all = 0;
  for (const std::uint64_t word : words) all |= word;
  return (all & kHighBits) == 0;
}

}  // namespace

bool valid(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    // Most text is ASCII: many bytes at once, then eight.
    if (i + kWideBytes <= text.size() && ascii(text.data() + i)) {
      i += kWideBytes;
      continue;
    }
    std::uint64_t block = 0;
    if (i + sizeof block <= text.size()) {
      std::memcpy(&block, text.data() + i, sizeof block);
      if ((block & kHighBits) == 0) {
        i += sizeof block;
        continue;
      }
    }
    const Unit unit = read(text, i);
    if (!unit.ok) return false;
    i += unit.bytes;
  }
  return true;
}

std::string sanitize(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Unit unit = read(text, i);
    if (unit.ok) {
      out.append(text.substr(i, unit.bytes));
    } else {
      out += "\xEF\xBF\xBD";
    }
    i += unit.bytes;
  }
  return out;
}

std::string_view prefix(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (byte(text, end) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

size_t length(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); i += read(text, i).bytes) ++count;
  return count;
}

void append(std::string& out, char32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) c = 0xfffd;
  const auto put = [&out](char32_t b) { out += static_cast<char>(static_cast<unsigned char>(b)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6));
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3f));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

size_t incomplete_tail(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const size_t i = text.size() - back;
    if ((byte(text, i) & 0xc0) == 0x80) continue;
    return read(text, i).cut ? back : 0;
  }
  return 0;
}

}  // namespace chela::utf8
