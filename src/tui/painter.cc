#include "tui/painter.h"

#include <algorithm>

#include "tui/glyphs.h"

namespace chela::tui {
namespace {

constexpr std::string_view kHideCursor = "\x1b[?25l";
constexpr std::string_view kShowCursor = "\x1b[?25h";
constexpr std::string_view kEraseBelow = "\x1b[J";

size_t height_of(size_t width, size_t columns) { return width == 0 ? 1 : (width + columns - 1) / columns; }

}  // namespace

std::string Painter::to_top() const { return "\r" + (row_ > 0 ? "\x1b[" + std::to_string(row_) + "A" : ""); }

std::string Painter::paint(const std::vector<Spans>& stay, const Picture& live) {
  std::string out = std::string(kHideCursor) + to_top() + std::string(kEraseBelow);
  for (const Spans& each : stay) out += chela::tui::paint(each, colour_) + "\r\n";
  const size_t most = std::max<size_t>(size_.rows, 2) - 1;
  size_t first = 0;
  size_t end = live.rows.size();
  if (end > most) {
    // What is above the cursor goes first, then what is below it.
    first = std::min(end - most, live.row);
    end = first + most;
  }
  widths_.clear();
  for (size_t i = first; i < end; ++i) {
    if (i > first) out += "\r\n";
    out += chela::tui::paint(live.rows[i], colour_);
    widths_.push_back(columns_of(live.rows[i]));
  }
  const size_t count = end - first;
  row_ = count == 0 ? 0 : std::min(live.row - std::min(live.row, first), count - 1);
  if (count > 0 && count - 1 > row_) out += "\x1b[" + std::to_string(count - 1 - row_) + "A";
  out += "\r";
  if (live.column > 0) out += "\x1b[" + std::to_string(live.column) + "C";
  return out + std::string(kShowCursor);
}

std::string Painter::erase() {
  std::string out = to_top() + std::string(kEraseBelow);
  widths_.clear();
  row_ = 0;
  return out;
}

std::string Painter::clear() {
  widths_.clear();
  row_ = 0;
  return "\x1b[H\x1b[2J";
}

void Painter::resize(Size size) {
  size_ = {.columns = std::max<size_t>(size.columns, 4), .rows = std::max<size_t>(size.rows, 2)};
  size_t above = 0;
  for (size_t i = 0; i < std::min(row_, widths_.size()); ++i) above += height_of(widths_[i], size_.columns);
  row_ = std::min(above, size_.rows - 1);
}

}  // namespace chela::tui
