#include "tui/glyphs.h"

#include <clocale>
#include <cwchar>

#include "base/utf8.h"

namespace chela::tui {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kZeroWidthJoiner = 0x200D;
constexpr size_t kTabColumns = 4;

struct CodePoint {
  char32_t value = kReplacement;
  size_t bytes = 1;
};

size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = sequence_length(lead);
  if (length == 0 || length > text.size() || !utf8::valid(text.substr(0, length))) return {};
  if (length == 1) return {.value = lead, .bytes = 1};
  char32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  return {.value = value, .bytes = length};
}

// The C library knows the widths; its tables belong to a locale. The program's own locale stays as it is.
size_t width_of(char32_t c) {
  if (c >= 0x20 && c < 0x7F) return 1;
  static const locale_t utf8_locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8_locale == nullptr) return 1;
  const locale_t before = ::uselocale(utf8_locale);
  const int width = ::wcwidth(static_cast<wchar_t>(c));
  ::uselocale(before);
  return width < 0 ? 1 : static_cast<size_t>(width);
}

bool joins(char32_t c) { return c >= 0x80 && width_of(c) == 0; }

bool turns_direction(char32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F ||
         c == 0x061C;
}

bool steers(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || turns_direction(c);
}

}  // namespace

Glyph first_glyph(std::string_view text) {
  CodePoint base = first_code_point(text);
  size_t end = base.bytes;
  const size_t columns = width_of(base.value);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0x80) != 0) {
    const CodePoint next = first_code_point(text.substr(end));
    if (next.value == kReplacement || !joins(next.value) || next.value == kZeroWidthJoiner) break;
    end += next.bytes;
  }
  return {.bytes = text.substr(0, end), .columns = columns};
}

Glyph last_glyph(std::string_view text) {
  size_t start = text.size();
  while (start > 0) {
    --start;
    if ((static_cast<unsigned char>(text[start]) & 0xC0) == 0x80 && start > 0) continue;
    if (start == 0 || !joins(first_code_point(text.substr(start)).value)) break;
  }
  // Going back may have met ill-formed bytes; the last glyph of what is left is the answer.
  Glyph glyph = first_glyph(text.substr(start));
  for (size_t at = start + glyph.bytes.size(); at < text.size(); at += glyph.bytes.size())
    glyph = first_glyph(text.substr(at));
  return glyph;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes.size());
  }
  return columns;
}

std::string_view fitting(std::string_view text, size_t columns) {
  size_t taken = 0;
  size_t end = 0;
  while (end < text.size()) {
    const Glyph glyph = first_glyph(text.substr(end));
    if (taken + glyph.columns > columns) break;
    taken += glyph.columns;
    end += glyph.bytes.size();
  }
  return text.substr(0, end);
}

std::string shortened(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  return std::string(fitting(text, columns - 1)) + "…";
}

std::string harmless(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (c.value == '\n') {
      out += '\n';
    } else if (c.value == '\t') {
      out.append(kTabColumns, ' ');
    } else if (!steers(c.value)) {
      utf8::append(out, c.value);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : harmless(text)) {
    const bool space = c == ' ' || c == '\n';
    if (!space) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace chela::tui
