#include "tui/line_editor.h"

#include <algorithm>

#include "base/limits.h"
#include "tui/glyphs.h"

namespace chela::tui {
namespace {

using Kind = Key::Kind;

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z') || byte == '_';
}

std::string common_beginning(const std::vector<Candidate>& all) {
  std::string common = all.front().line;
  for (const Candidate& each : all) {
    const auto end = std::mismatch(common.begin(), common.end(), each.line.begin(), each.line.end()).first;
    common.erase(end, common.end());
  }
  while (!common.empty() && std::any_of(all.begin(), all.end(), [&](const Candidate& each) {
    return each.line.size() > common.size() &&
           (static_cast<unsigned char>(each.line[common.size()]) & 0xC0) == 0x80;
  }))
    common.pop_back();
  return common;
}

}  // namespace

LineEditor::Outcome LineEditor::press(const Key& key) {
  if (key.kind != Kind::kTab && key.kind != Kind::kBackTab) {
    menu_.clear();
    picked_.reset();
    owed_ = 0;
  }
  Outcome outcome = Outcome::kEdited;
  switch (key.kind) {
    case Kind::kText:
    case Kind::kPaste:
      insert(harmless(key.text));
      break;
    case Kind::kNewLine:
      insert("\n");
      break;
    case Kind::kEnter:
      return Outcome::kSubmitted;
    case Kind::kEscape:
      return Outcome::kEscape;
    case Kind::kTab:
      complete(1);
      break;
    case Kind::kBackTab:
      complete(-1);
      break;
    case Kind::kBackspace:
      erase(left(), cursor_);
      break;
    case Kind::kDelete:
      erase(cursor_, right());
      break;
    case Kind::kLeft:
      cursor_ = left();
      break;
    case Kind::kRight:
      if (cursor_ == text_.size() && !hint().empty())
        complete(1);
      else
        cursor_ = right();
      break;
    case Kind::kWordLeft:
      cursor_ = word_left();
      break;
    case Kind::kWordRight:
      cursor_ = word_right();
      break;
    case Kind::kHome:
      cursor_ = row_start();
      break;
    case Kind::kEnd:
      cursor_ = row_end();
      break;
    case Kind::kUp:
      move_row(-1);
      break;
    case Kind::kDown:
      move_row(1);
      break;
    case Kind::kControl:
      control(key.text[0], outcome);
      break;
    case Kind::kAlt:
      alt(key.text);
      break;
  }
  return outcome;
}

bool LineEditor::control(char letter, Outcome& outcome) {
  switch (letter) {
    case 'a':
      cursor_ = row_start();
      break;
    case 'b':
      cursor_ = left();
      break;
    case 'c':
      outcome = Outcome::kInterrupt;
      break;
    case 'd':
      if (text_.empty())
        outcome = Outcome::kEnd;
      else
        erase(cursor_, right());
      break;
    case 'e':
      cursor_ = row_end();
      break;
    case 'f':
      cursor_ = right();
      break;
    case 'k':
      kill(cursor_, row_end() == cursor_ ? right() : row_end());
      break;
    case 'l':
      outcome = Outcome::kClear;
      break;
    case 'n':
      recall(1);
      break;
    case 'p':
      recall(-1);
      break;
    case 'u':
      kill(row_start(), cursor_);
      break;
    case 'w': {
      size_t from = cursor_;
      while (from > 0 && text_[from - 1] == ' ') --from;
      while (from > 0 && text_[from - 1] != ' ' && text_[from - 1] != '\n') --from;
      kill(from, cursor_);
      break;
    }
    case 'y':
      insert(killed_);
      break;
    case 'z':
      outcome = Outcome::kSuspend;
      break;
    default:
      return false;
  }
  return true;
}

void LineEditor::alt(std::string_view letter) {
  if (letter.empty())
    kill(word_left(), cursor_);
  else if (letter == "b")
    cursor_ = word_left();
  else if (letter == "d")
    kill(cursor_, word_right());
  else if (letter == "f")
    cursor_ = word_right();
}

std::string LineEditor::take() {
  std::string taken = std::exchange(text_, {});
  clear();
  return taken;
}

void LineEditor::clear() {
  std::fill(text_.begin(), text_.end(), '\0');
  text_.clear();
  cursor_ = 0;
  recalled_.reset();
  draft_.clear();
  owed_ = 0;
  menu_.clear();
  picked_.reset();
}

void LineEditor::set_aside(Echo echo) {
  aside_ = text_;
  aside_cursor_ = cursor_;
  clear();
  echo_ = echo;
}

void LineEditor::take_up() {
  clear();
  text_ = std::exchange(aside_, {});
  cursor_ = std::min(std::exchange(aside_cursor_, 0), text_.size());
  echo_ = Echo::kText;
}

void LineEditor::insert(std::string_view text) {
  if (text_.size() + text.size() > kMaxTypedBytes) return;
  text_.insert(cursor_, text);
  cursor_ += text.size();
}

void LineEditor::erase(size_t from, size_t to) {
  text_.erase(from, to - from);
  cursor_ = from;
}

void LineEditor::kill(size_t from, size_t to) {
  if (from == to) return;
  if (echo_ == Echo::kText) killed_ = text_.substr(from, to - from);
  erase(from, to);
}

size_t LineEditor::left() const {
  if (cursor_ == 0) return 0;
  const size_t start = row_start();
  if (start == cursor_) return cursor_ - 1;  // the line end
  return cursor_ - last_glyph(std::string_view(text_).substr(start, cursor_ - start)).bytes.size();
}
size_t LineEditor::right() const {
  if (cursor_ == text_.size()) return cursor_;
  return cursor_ +
         (text_[cursor_] == '\n' ? 1 : first_glyph(std::string_view(text_).substr(cursor_)).bytes.size());
}
size_t LineEditor::word_left() const {
  size_t at = cursor_;
  while (at > 0 && !is_word(text_[at - 1])) --at;
  while (at > 0 && is_word(text_[at - 1])) --at;
  return at;
}
size_t LineEditor::word_right() const {
  size_t at = cursor_;
  while (at < text_.size() && !is_word(text_[at])) ++at;
  while (at < text_.size() && is_word(text_[at])) ++at;
  return at;
}
size_t LineEditor::row_start() const {
  const size_t end = cursor_ == 0 ? std::string::npos : text_.rfind('\n', cursor_ - 1);
  return end == std::string::npos ? 0 : end + 1;
}
size_t LineEditor::row_end() const { return std::min(text_.find('\n', cursor_), text_.size()); }

// Up and down go through the lines of the input first, then through the history.
void LineEditor::move_row(int by) {
  const size_t start = row_start();
  const size_t column = columns_of(std::string_view(text_).substr(start, cursor_ - start));
  if (by < 0 && start > 0 && !recalled_) {
    cursor_ = start - 1;
    const size_t above = row_start();
    cursor_ = above + fitting(std::string_view(text_).substr(above, start - 1 - above), column).size();
  } else if (by > 0 && row_end() < text_.size() && !recalled_) {
    const size_t below = row_end() + 1;
    const std::string_view rest = std::string_view(text_).substr(below);
    cursor_ = below + fitting(rest.substr(0, rest.find('\n')), column).size();
  } else {
    recall(by);
  }
}

// Entries that begin with what was typed.
void LineEditor::recall(int by) {
  if (echo_ == Echo::kNothing) return;
  const auto& entries = history_.entries();
  if (!recalled_) draft_ = text_;
  size_t at = recalled_.value_or(entries.size());
  while (true) {
    if (by < 0 && at == 0) return;
    if (by > 0 && at >= entries.size()) return;
    at = by < 0 ? at - 1 : at + 1;
    if (at == entries.size()) break;
    if (entries[at].starts_with(draft_) && entries[at] != text_) break;
  }
  if (at == entries.size())
    recalled_.reset();
  else
    recalled_ = at;
  text_ = recalled_ ? entries[at] : draft_;
  cursor_ = text_.size();
}

std::vector<Candidate> LineEditor::candidates() const {
  if (echo_ == Echo::kNothing || !completer_ || cursor_ != text_.size() || text_.contains('\n')) return {};
  std::vector<Candidate> all = completer_(text_);
  if (all.size() > kMaxCompletions) all.resize(kMaxCompletions);
  return all;
}

void LineEditor::complete(int by) {
  if (!menu_.empty()) {
    const size_t count = menu_.size();
    pick(picked_  ? (*picked_ + count + static_cast<size_t>(by + static_cast<int>(count))) % count
         : by > 0 ? 0
                  : count - 1);
    return;
  }
  std::vector<Candidate> all = candidates();
  owed_ = all.empty() ? by : 0;
  if (all.empty()) return;
  const std::string common = common_beginning(all);
  if (all.size() == 1) {
    text_ = all.front().line;
  } else if (common.size() > text_.size() && common.starts_with(text_)) {
    text_ = common;
  } else {
    menu_ = std::move(all);
  }
  cursor_ = text_.size();
}

void LineEditor::completer_changed() {
  if (owed_ != 0) complete(owed_);
}

void LineEditor::pick(size_t index) {
  picked_ = index;
  text_ = menu_[index].line;
  cursor_ = text_.size();
}

// The rest of the first candidate, if it goes on from what was typed.
std::string LineEditor::hint() const {
  if (!menu_.empty() || text_.empty()) return {};
  for (const Candidate& each : candidates()) {
    if (each.line.starts_with(text_) && each.line.size() > text_.size())
      return each.line.substr(text_.size());
  }
  return {};
}

std::vector<Spans> LineEditor::menu(size_t columns) const {
  std::vector<Spans> rows;
  const size_t first = picked_ && *picked_ >= kMaxCompletionRows ? *picked_ + 1 - kMaxCompletionRows : 0;
  const size_t end = std::min(menu_.size(), first + kMaxCompletionRows);
  size_t width = 0;
  for (size_t i = first; i < end; ++i)
    width = std::max(width, std::min(columns_of(menu_[i].label), columns / 2));
  for (size_t i = first; i < end; ++i) {
    const std::string label = shortened(menu_[i].label, width);
    const std::string gap(width - columns_of(label) + 2, ' ');
    const size_t room = columns > width + 5 ? columns - width - 5 : 0;
    rows.push_back(
        {{.text = (picked_ == i ? "> " : "  ") + label, .face = picked_ == i ? kBold | kCyan : kPlain},
         {.text = gap + shortened(menu_[i].help, room), .face = kDim}});
  }
  if (end < menu_.size())
    rows.push_back({{.text = "  ... " + std::to_string(menu_.size() - end) + " more", .face = kDim}});
  return rows;
}

Picture LineEditor::picture(const Spans& prompt, size_t columns, Colour colour) const {
  columns = std::max<size_t>(columns, 4);
  Picture picture{.rows = {prompt}};
  const std::string indent(std::min(columns_of(prompt), columns / 2), ' ');
  size_t used = columns_of(prompt);
  const auto next_row = [&](const std::string& beginning) {
    picture.rows.push_back({{.text = beginning}});
    used = beginning.size();
  };
  const auto put = [&](std::string_view text, Face face) {
    for (size_t at = 0; at < text.size();) {
      const Glyph glyph = first_glyph(text.substr(at));
      if (used + glyph.columns > columns) next_row({});
      append(picture.rows.back(), glyph.bytes, face);
      used += glyph.columns;
      at += glyph.bytes.size();
    }
  };
  const auto mark = [&] {
    if (used == columns) next_row({});
    picture.row = picture.rows.size() - 1;
    picture.column = used;
  };
  if (echo_ == Echo::kNothing) {
    mark();
    return picture;
  }
  for (size_t at = 0;;) {
    if (at == cursor_) mark();
    if (at == text_.size()) break;
    if (text_[at] == '\n') {
      next_row(indent);
      ++at;
      continue;
    }
    size_t end = std::min(text_.find('\n', at), text_.size());
    if (cursor_ > at) end = std::min(end, cursor_);
    put(std::string_view(text_).substr(at, end - at), kPlain);
    at = end;
  }
  // Without colour a hint could not be told from what was typed.
  if (colour == Colour::kOn) put(shortened(hint(), columns - std::min(columns, used + 1)), kDim);
  for (Spans& each : menu(columns)) picture.rows.push_back(std::move(each));
  return picture;
}

}  // namespace chela::tui
