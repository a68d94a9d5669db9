#pragma once

#include <string_view>

#include "tui/spans.h"

namespace chela::tui {

// The inline marks of one line of Markdown: emphasis, strong, strike, code, links, images, escapes. Takes time in proportion to the line.
// Without colour the marks stay, since nothing else would tell what they mark; links become "text (address)" either way.
Spans inline_markdown(std::string_view line, Face base, Colour colour);

}  // namespace chela::tui
