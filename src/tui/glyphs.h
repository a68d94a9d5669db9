#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chela::tui {

// One place on the screen: a character with the combining marks that follow it.
struct Glyph {
  std::string_view bytes;
  size_t columns = 0;  // 0, 1, or 2 (CJK, emoji)
};

// The glyph at the beginning of the text, which is not empty. An ill-formed byte is a glyph of one column.
Glyph first_glyph(std::string_view text);
// The one at its end.
Glyph last_glyph(std::string_view text);

// How many columns the text takes. It has no line ends and no escape sequences.
size_t columns_of(std::string_view text);

// The longest beginning of the text that fits.
std::string_view fitting(std::string_view text, size_t columns);
// Cut with an ellipsis when it does not fit.
std::string shortened(std::string_view text, size_t columns);

// Valid UTF-8 without anything that steers a terminal: control characters (line ends stay, a tab becomes spaces) and marks that turn
// the direction of text are left out.
std::string harmless(std::string_view text);
// The same in one line: white space of any kind is one space.
std::string one_line(std::string_view text);

}  // namespace chela::tui
