#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chela::tui {

enum class Colour { kOff, kOn };

// How text looks; faces add up.
enum Face : std::uint16_t {
  kPlain = 0,
  kBold = 1 << 0,
  kDim = 1 << 1,
  kItalic = 1 << 2,
  kUnderline = 1 << 3,
  kStrike = 1 << 4,
  kCyan = 1 << 5,
  kGreen = 1 << 6,
  kYellow = 1 << 7,
  kRed = 1 << 8,
};
constexpr Face operator|(Face a, Face b) {
  return static_cast<Face>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}

// Text of one face. Harmless already: it is painted as it is.
struct Span {
  std::string text;
  Face face = kPlain;
  bool operator==(const Span&) const = default;
};
using Spans = std::vector<Span>;

void append(Spans& to, std::string_view text, Face face);  // joins neighbours of one face
void append(Spans& to, const Spans& more);
size_t columns_of(const Spans& spans);
std::string text_of(const Spans& spans);

// As bytes for a terminal; without colour just the text.
std::string paint(const Spans& spans, Colour colour);

// Breaks between words, and between wide characters, so that each row fits; a word that is wider than a row is broken. The first row
// begins with `first`, the others with `rest`. At least one row.
std::vector<Spans> wrap(const Spans& text, size_t columns, const Spans& first = {}, const Spans& rest = {});

}  // namespace chela::tui
