#include "tui/markdown_table.h"

#include <algorithm>
#include <numeric>

#include "base/limits.h"
#include "base/strings.h"
#include "tui/glyphs.h"
#include "tui/inline_markdown.h"

namespace chela::tui {
namespace {

constexpr size_t kNarrowestColumn = 3;
constexpr std::string_view kBorder = " │ ";
constexpr size_t kBorderColumns = 3;

}  // namespace

std::vector<std::string> table_cells(std::string_view line) {
  line = strings::trim(line);
  if (line.starts_with('|')) line.remove_prefix(1);
  std::vector<std::string> cells(1);
  for (size_t i = 0; i < line.size(); ++i) {
    const bool last = i + 1 == line.size();
    if (line[i] == '\\' && !last && line[i + 1] == '|') {
      cells.back() += line[++i];
    } else if (line[i] != '|') {
      cells.back() += line[i];
    } else if (!last && cells.size() < kMaxMarkdownColumns) {
      cells.emplace_back();
    } else if (!last) {
      break;
    }
  }
  for (std::string& each : cells) each = strings::trim(each);
  return cells;
}

std::vector<Align> table_alignment(std::string_view line) {
  if (!line.contains('-') || !line.contains('|') || line.find_first_not_of(" |:-") != std::string_view::npos)
    return {};
  std::vector<Align> alignment;
  for (const std::string& cell : table_cells(line)) {
    if (!cell.contains('-')) return {};
    const bool left = cell.starts_with(':');
    alignment.push_back(!cell.ends_with(':') ? Align::kLeft : left ? Align::kCentre : Align::kRight);
  }
  return alignment;
}

void TableLayout::measure(const std::vector<std::vector<std::string>>& rows, size_t columns) {
  widths_.assign(alignment_.size(), kNarrowestColumn);
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < std::min(row.size(), widths_.size()); ++i)
      widths_[i] = std::max(widths_[i], columns_of(inline_markdown(row[i], kPlain, colour_)));
  }
  const size_t borders = kBorderColumns * (widths_.size() - 1);
  const size_t room = std::max(columns, borders + widths_.size() * kNarrowestColumn) - borders;
  // The widest columns give way, down to a common width that fits.
  size_t low = kNarrowestColumn;
  size_t high = std::max(room, low);
  const auto total = [&](size_t most) {
    return std::accumulate(widths_.begin(), widths_.end(), size_t{0},
                           [most](size_t sum, size_t width) { return sum + std::min(width, most); });
  };
  while (low < high) {
    const size_t middle = (low + high + 1) / 2;
    if (total(middle) <= room)
      low = middle;
    else
      high = middle - 1;
  }
  for (size_t& width : widths_) width = std::min(width, low);
}

Spans TableLayout::cell(const std::vector<std::string>& cells, size_t column, Face face) const {
  return column < cells.size() ? inline_markdown(cells[column], face, colour_) : Spans{};
}

std::vector<Spans> TableLayout::row(const std::vector<std::string>& cells, Face face) const {
  std::vector<std::vector<Spans>> wrapped;
  size_t height = 1;
  for (size_t i = 0; i < widths_.size(); ++i) {
    wrapped.push_back(wrap(cell(cells, i, face), widths_[i]));
    height = std::max(height, wrapped.back().size());
  }
  std::vector<Spans> rows(height);
  for (size_t y = 0; y < height; ++y) {
    for (size_t i = 0; i < widths_.size(); ++i) {
      const Spans text = y < wrapped[i].size() ? wrapped[i][y] : Spans{};
      const size_t taken = columns_of(text);
      const size_t spare = widths_[i] > taken ? widths_[i] - taken : 0;
      const size_t before = alignment_[i] == Align::kLeft    ? 0
                            : alignment_[i] == Align::kRight ? spare
                                                             : spare / 2;
      if (i > 0) append(rows[y], kBorder, kDim);
      append(rows[y], std::string(before, ' '), kPlain);
      append(rows[y], text);
      if (i + 1 < widths_.size()) append(rows[y], std::string(spare - before, ' '), kPlain);
    }
  }
  return rows;
}

Spans TableLayout::rule() const {
  std::string line;
  for (size_t i = 0; i < widths_.size(); ++i) {
    if (i > 0) line += "─┼─";
    for (size_t n = 0; n < widths_[i]; ++n) line += "─";
  }
  return {{.text = line, .face = kDim}};
}

}  // namespace chela::tui
