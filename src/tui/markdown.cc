#include "tui/markdown.h"

#include <algorithm>

#include "base/limits.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "tui/glyphs.h"
#include "tui/inline_markdown.h"

namespace chela::tui {
namespace {

constexpr size_t kWidestRule = 80;
constexpr size_t kMaxItemIndent = 24;

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

std::string rule_of(size_t columns) {
  std::string rule;
  for (size_t i = 0; i < std::min(columns, kWidestRule); ++i) rule += "─";
  return rule;
}

// The marks of "```cpp" or "~~~"; nothing for other lines.
std::string_view fence_of(std::string_view line) {
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return {};
  const size_t end = std::min(line.find_first_not_of(line[0]), line.size());
  if (end < 3 || (line[0] == '`' && line.substr(end).contains('`'))) return {};
  return line.substr(0, end);
}

// The length of "- ", "12. " and the like at the beginning; 0 for other lines.
size_t marker_length(std::string_view line) {
  size_t end = 0;
  if (!line.empty() && std::string_view("-*+").contains(line[0])) {
    end = 1;
  } else {
    while (end < line.size() && end < 9 && line[end] >= '0' && line[end] <= '9') ++end;
    if (end == 0 || end == line.size() || (line[end] != '.' && line[end] != ')')) return 0;
    ++end;
  }
  return end < line.size() && line[end] == ' ' ? end + 1 : 0;
}

}  // namespace

std::vector<Spans> Markdown::feed(std::string_view text) {
  while (!text.empty()) {
    const size_t room = kMaxMarkdownLineBytes - line_.size();
    const size_t end = text.find('\n');
    const size_t taken = std::min({end, text.size(), room});
    line_ += text.substr(0, taken);
    text.remove_prefix(taken);
    if (!text.empty() && text[0] == '\n') {
      text.remove_prefix(1);
      take_line(harmless(std::exchange(line_, {})));
    } else if (line_.size() == kMaxMarkdownLineBytes) {
      // Cut where nobody minds: at a space, else between characters.
      const size_t space = line_.rfind(' ');
      const size_t cut =
          space != std::string::npos && space > 0 ? space : line_.size() - utf8::incomplete_tail(line_);
      std::string rest = line_.substr(cut);
      line_.resize(cut);
      take_line(harmless(line_));
      line_ = std::move(rest);
    }
  }
  return std::exchange(rows_, {});
}

std::vector<Spans> Markdown::tail() const {
  if (empty()) return {};
  Markdown copy = *this;
  copy.line_.resize(copy.line_.size() - utf8::incomplete_tail(copy.line_));
  return copy.finish();
}

std::vector<Spans> Markdown::finish() {
  if (!line_.empty()) take_line(harmless(std::exchange(line_, {})));
  end_table();
  if (!fence_.empty()) emit(Spans{{.text = rule_of(columns_), .face = kDim}});
  std::vector<Spans> rows = std::exchange(rows_, {});
  *this = Markdown(columns_, colour_);
  return rows;
}

void Markdown::take_line(std::string_view line) {
  quoted_.clear();
  if (code(line)) return;
  if (table(line)) return;
  block(line);
}

void Markdown::block(std::string_view line) {
  if (strings::trim(line).empty()) {
    blank_ = begun_;
    return;
  }
  if (quote(line) || heading(line) || rule(line) || item(line)) return;
  text(line);
}

// Inside a code block, and the line that begins one. Its lines are shown as they are, so that they can be copied.
bool Markdown::code(std::string_view line) {
  const size_t indent = indent_of(line);
  const std::string_view trimmed = line.substr(indent);
  const std::string_view marks = fence_of(trimmed);
  if (fence_.empty()) {
    if (marks.empty()) return false;
    end_table();
    layout_.reset();
    fence_ = marks;
    fence_indent_ = indent;
    const std::string_view language = strings::trim(trimmed.substr(marks.size()));
    const std::string title = language.empty() ? "" : "── " + shortened(language, columns_ / 2) + " ";
    const size_t width = std::min(columns_, kWidestRule);
    emit(Spans{{.text = title + rule_of(width - std::min(width, columns_of(title))), .face = kDim}});
    return true;
  }
  if (marks.starts_with(fence_) && strings::trim(trimmed.substr(marks.size())).empty()) {
    fence_.clear();
    emit(Spans{{.text = rule_of(columns_), .face = kDim}});
    return true;
  }
  emit(Spans{{.text = std::string(line.substr(std::min(indent, fence_indent_))), .face = kCyan}});
  return true;
}

bool Markdown::heading(std::string_view line) {
  const size_t indent = indent_of(line);
  if (indent > 3) return false;
  line.remove_prefix(indent);
  const size_t level = std::min(line.find_first_not_of('#'), line.size());
  if (level == 0 || level > 6 || level >= line.size() || line[level] != ' ') return false;
  std::string_view title = strings::trim(line.substr(level));
  if (const size_t end = title.find_last_not_of('#');
      end != std::string_view::npos && end + 1 < title.size() && title[end] == ' ')
    title = strings::trim(title.substr(0, end));
  const Face face = level <= 2 ? kBold | kUnderline : kBold;
  const Spans marks = colour_ == Colour::kOn ? Spans{} : Spans{{.text = std::string(level, '#') + " "}};
  put(inline_markdown(title, face, colour_), marks, {});
  return true;
}

bool Markdown::rule(std::string_view line) {
  line = strings::trim(line);
  if (line.size() < 3 || !std::string_view("-*_").contains(line[0])) return false;
  if (line.find_first_not_of(std::string{line[0], ' '}) != std::string_view::npos) return false;
  if (std::count(line.begin(), line.end(), line[0]) < 3) return false;
  emit(Spans{{.text = rule_of(columns_ - std::min(columns_, columns_of(quoted_))), .face = kDim}});
  return true;
}

bool Markdown::quote(std::string_view line) {
  const std::string_view inner = line.substr(indent_of(line));
  if (!inner.starts_with('>') || quoted_.size() > 1) return false;
  size_t depth = 0;
  size_t at = 0;
  while (at < inner.size() && inner[at] == '>' && depth < kMaxQuoteDepth) {
    ++depth;
    at += inner.substr(at + 1).starts_with(' ') ? 2 : 1;
  }
  std::string bars;
  for (size_t i = 0; i < depth; ++i) bars += colour_ == Colour::kOn ? "│ " : "> ";
  const std::string_view rest = inner.substr(std::min(at, inner.size()));
  if (strings::trim(rest).empty()) {
    emit(Spans{{.text = bars, .face = kDim}});
    return true;
  }
  quoted_ = {{.text = bars, .face = kDim}};
  if (!heading(rest) && !rule(rest) && !item(rest)) text(rest);
  quoted_.clear();
  return true;
}

bool Markdown::item(std::string_view line) {
  const size_t indent = std::min(indent_of(line), kMaxItemIndent);
  const std::string_view inner = line.substr(indent_of(line));
  const size_t length = marker_length(inner);
  if (length == 0) return false;
  const bool bullet = std::string_view("-*+").contains(inner[0]);
  std::string marker = bullet && colour_ == Colour::kOn ? "• " : std::string(inner.substr(0, length));
  const Spans first{{.text = std::string(indent, ' ') + marker, .face = kCyan}};
  const Spans rest{{.text = std::string(columns_of(first), ' ')}};
  put(inline_markdown(strings::trim(inner.substr(length)), kPlain, colour_), first, rest);
  return true;
}

void Markdown::text(std::string_view line) {
  const Spans indent{{.text = std::string(std::min(indent_of(line), kMaxItemIndent), ' ')}};
  const Spans lead = indent[0].text.empty() ? Spans{} : indent;
  put(inline_markdown(strings::trim(line), kPlain, colour_), lead, lead);
}

// Lines of a table are held back until it ends: its columns are as wide as the widest cell. True when the line was taken.
bool Markdown::table(std::string_view line) {
  const bool row = line.contains('|') && line.find_first_not_of(' ') != std::string_view::npos &&
                   !line.substr(indent_of(line)).starts_with('>');
  if (!row) layout_.reset();
  if (layout_) {
    emit(layout_->row(table_cells(line), kPlain));
    return true;
  }
  if (table_.size() == 1 && !in_table_) {
    const std::vector<Align> alignment = table_alignment(line);
    in_table_ = !alignment.empty() && alignment.size() == table_cells(table_[0]).size();
    if (!in_table_) end_table();
  } else if (!row) {
    end_table();
  }
  if (!row) return false;
  table_.emplace_back(line);
  table_bytes_ += line.size();
  if (in_table_ && table_bytes_ >= kMaxMarkdownTableBytes) layout_ = end_table();
  return true;
}

std::optional<TableLayout> Markdown::end_table() {
  if (table_.empty()) return std::nullopt;
  const std::vector<std::string> lines = std::exchange(table_, {});
  table_bytes_ = 0;
  if (!std::exchange(in_table_, false)) {
    for (const std::string& each : lines) block(each);
    return std::nullopt;
  }
  std::vector<std::vector<std::string>> cells;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i != 1) cells.push_back(table_cells(lines[i]));
  }
  TableLayout layout(table_alignment(lines[1]), colour_);
  layout.measure(cells, columns_);
  for (size_t i = 0; i < cells.size(); ++i) {
    emit(layout.row(cells[i], i == 0 ? kBold : kPlain));
    if (i == 0) emit(layout.rule());
  }
  return layout;
}

void Markdown::put(const Spans& spans, const Spans& first, const Spans& rest) {
  Spans before = quoted_, after = quoted_;
  append(before, first);
  append(after, rest);
  emit(wrap(spans, columns_, before, after));
}

void Markdown::emit(std::vector<Spans> rows) {
  for (Spans& each : rows) emit(std::move(each));
}

void Markdown::emit(Spans row) {
  if (blank_) rows_.emplace_back();
  blank_ = false;
  begun_ = true;
  rows_.push_back(std::move(row));
}

}  // namespace chela::tui
