#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tui/markdown_table.h"
#include "tui/spans.h"

namespace chela::tui {

// Markdown as rows of a screen, while it is being written. A line is final when its end has come (a table, when its last line has); what
// is not final yet can be looked at as it stands. How the text is cut into pieces changes nothing. Takes time in proportion to the text and
// holds back at most one line (kMaxMarkdownLineBytes) or table (kMaxMarkdownTableBytes). Not thread-safe.
//
// It goes line by line instead of through a parser of whole documents: rows that have left for the scrollback cannot be taken back, so a
// later line must not change an earlier one. Hence a line break stays a line break, underlined headings and reference links are plain text.
class Markdown {
 public:
  Markdown(size_t columns, Colour colour) : columns_(columns), colour_(colour) {}

  void set_columns(size_t columns) { columns_ = columns; }

  // Gives the rows that have become final. Rows of code may be wider than the screen; all others fit.
  std::vector<Spans> feed(std::string_view text);
  // What is held back, as it would look if nothing followed.
  std::vector<Spans> tail() const;
  // The end of the text: gives what was held back and begins anew.
  std::vector<Spans> finish();

  bool empty() const { return line_.empty() && table_.empty(); }

 private:
  void take_line(std::string_view line);
  void block(std::string_view line);
  bool code(std::string_view line);
  bool heading(std::string_view line);
  bool rule(std::string_view line);
  bool quote(std::string_view line);
  bool item(std::string_view line);
  void text(std::string_view line);
  bool table(std::string_view line);
  std::optional<TableLayout> end_table();
  void emit(std::vector<Spans> rows);
  void emit(Spans row);
  void put(const Spans& spans, const Spans& first, const Spans& rest);

  size_t columns_;
  Colour colour_;
  std::string line_;   // its end has not come
  std::string fence_;  // the marks that close the code block; "" outside
  size_t fence_indent_ = 0;
  Spans quoted_;                    // the bar of the quote that the line is in
  std::vector<std::string> table_;  // lines that may be, or are, a table
  size_t table_bytes_ = 0;
  bool in_table_ = false;              // the delimiter line has come
  std::optional<TableLayout> layout_;  // of a table that was too long to be held back
  bool blank_ = false;                 // a blank line waits for text to follow
  bool begun_ = false;
  std::vector<Spans> rows_;
};

}  // namespace chela::tui
