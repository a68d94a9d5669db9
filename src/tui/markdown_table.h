#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tui/spans.h"

namespace chela::tui {

enum class Align { kLeft, kCentre, kRight };

// The cells of a table's line; a \| is no border.
std::vector<std::string> table_cells(std::string_view line);
// What a delimiter line (|---|:-:|) says of the columns; nothing when it is none.
std::vector<Align> table_alignment(std::string_view line);

// Lays a table's lines out. The widths are found from the first lines and stay for those that come later.
class TableLayout {
 public:
  TableLayout(std::vector<Align> alignment, Colour colour)
      : alignment_(std::move(alignment)), colour_(colour) {}

  // The widths that these rows want, shrunk to what the screen has.
  void measure(const std::vector<std::vector<std::string>>& rows, size_t columns);
  // One line of the table as rows of the screen: cells that are too long take several.
  std::vector<Spans> row(const std::vector<std::string>& cells, Face face) const;
  Spans rule() const;

 private:
  Spans cell(const std::vector<std::string>& cells, size_t column, Face face) const;

  std::vector<Align> alignment_;
  Colour colour_;
  std::vector<size_t> widths_;
};

}  // namespace chela::tui
