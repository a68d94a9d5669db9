#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tui/line_editor.h"
#include "tui/spans.h"

namespace chela::tui {

struct Size {
  size_t columns = 80;
  size_t rows = 24;
};

// The lower end of a terminal: rows that stay go to the scrollback, and below them is a live area (a line that is being written, the input)
// that is painted anew whenever it changes. Pure: gives the bytes to write.
class Painter {
 public:
  Painter(Size size, Colour colour) : size_(size), colour_(colour) {}

  // Rows that stay, then the live area as it is now. Rows may be wider than the screen; of a live area that is higher than the screen
  // the part around the cursor is shown.
  std::string paint(const std::vector<Spans>& stay, const Picture& live);
  // Takes the live area off the screen.
  std::string erase();
  // Clears the screen; the live area is to be painted again.
  std::string clear();
  // The size has changed. Terminals wrap long rows anew, so the live area's height is reckoned again.
  void resize(Size size);
  Size size() const { return size_; }

 private:
  std::string to_top() const;

  Size size_;
  const Colour colour_;
  std::vector<size_t> widths_;  // of the live rows on the screen
  size_t row_ = 0;              // where the cursor is among them, in rows of the screen
};

}  // namespace chela::tui
