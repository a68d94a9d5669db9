#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tui/history.h"
#include "tui/keys.h"
#include "tui/spans.h"

namespace chela::tui {

// What an input line could become.
struct Candidate {
  std::string line;   // the whole of it
  std::string label;  // what the list shows
  std::string help = {};
};
using Completer = std::function<std::vector<Candidate>(std::string_view line)>;

// Rows to show and where the cursor is in them.
struct Picture {
  std::vector<Spans> rows;
  size_t row = 0;
  size_t column = 0;
};

// One line of input, or several, while it is typed. Pure: keys in, a picture out. Keys are those of Emacs and readline.
class LineEditor {
 public:
  enum class Echo { kText, kNothing };  // nothing: for secrets, which are kept nowhere

  LineEditor(const History& history, Completer completer)
      : history_(history), completer_(std::move(completer)) {}

  enum class Outcome { kEdited, kSubmitted, kInterrupt, kEnd, kClear, kSuspend, kEscape };
  Outcome press(const Key& key);
  // The completer knows more than before: a Tab that found nothing is made good.
  void completer_changed();

  // Takes what was submitted and begins a new line.
  std::string take();
  Echo echo() const { return echo_; }
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  void clear();
  // Another question comes first: what was typed is put aside, or taken up again.
  void set_aside(Echo echo);
  void take_up();

  Picture picture(const Spans& prompt, size_t columns, Colour colour) const;

 private:
  void insert(std::string_view text);
  void erase(size_t from, size_t to);
  void kill(size_t from, size_t to);
  bool control(char letter, Outcome& outcome);
  void alt(std::string_view letter);
  void move_row(int by);
  void recall(int by);
  void complete(int by);
  void pick(size_t index);
  std::vector<Candidate> candidates() const;
  std::string hint() const;
  std::vector<Spans> menu(size_t columns) const;
  size_t left() const;
  size_t right() const;
  size_t word_left() const;
  size_t word_right() const;
  size_t row_start() const;
  size_t row_end() const;

  const History& history_;
  Completer completer_;
  std::string text_;
  size_t cursor_ = 0;
  Echo echo_ = Echo::kText;
  std::string killed_;
  std::optional<size_t> recalled_;  // index into the history
  std::string draft_;               // what was typed before an entry was recalled
  std::string aside_;
  size_t aside_cursor_ = 0;
  std::vector<Candidate> menu_;
  std::optional<size_t> picked_;
  int owed_ = 0;  // the way of a Tab that found nothing; 0 when there was none, or another key since
};

}  // namespace chela::tui
