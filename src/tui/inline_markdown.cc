#include "tui/inline_markdown.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/limits.h"

namespace chela::tui {
namespace {

constexpr std::string_view kMarks = "*_~";
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

bool is_space(std::string_view text, size_t at) { return at >= text.size() || text[at] == ' '; }
bool is_word(std::string_view text, size_t at) {
  if (at >= text.size()) return false;
  const auto c = static_cast<unsigned char>(text[at]);
  return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
size_t run_length(std::string_view text, size_t at) {
  const size_t end = text.find_first_not_of(text[at], at);
  return (end == std::string_view::npos ? text.size() : end) - at;
}

// A piece of the line: text, or a run of emphasis marks that may turn out to open or close something.
struct Piece {
  std::string text;
  Face face = kPlain;
  char mark = 0;  // of a run
  bool opens = false;
  bool closes = false;
};

class Reader {
 public:
  Reader(std::string_view line, Face base, Colour colour) : line_(line), base_(base), colour_(colour) {
    find_code_spans();
  }

  Spans read() {
    while (at_ < line_.size()) step();
    match();
    Spans spans;
    for (const Piece& each : pieces_) append(spans, each.text, each.face | base_);
    return spans;
  }

 private:
  // For each run of backticks the next one of the same length.
  void find_code_spans() {
    std::map<size_t, size_t> next;
    std::vector<size_t> runs;
    for (size_t at = line_.find('`'); at != std::string_view::npos;
         at = line_.find('`', at + run_length(line_, at)))
      runs.push_back(at);
    for (size_t i = runs.size(); i > 0; --i) {
      const size_t at = runs[i - 1];
      const size_t length = run_length(line_, at);
      if (const auto found = next.find(length); found != next.end()) closing_[at] = found->second;
      next[length] = at;
    }
  }

  void text(std::string_view bytes, Face face = kPlain) {
    if (!pieces_.empty() && pieces_.back().mark == 0 && pieces_.back().face == face) {
      pieces_.back().text += bytes;
    } else {
      pieces_.push_back({.text = std::string(bytes), .face = face});
    }
  }

  void step() {
    const char c = line_[at_];
    if (c == '\\' && at_ + 1 < line_.size() && kPunctuation.contains(line_[at_ + 1])) {
      text(line_.substr(at_ + 1, 1));
      at_ += 2;
    } else if (c == '`') {
      code();
    } else if (kMarks.contains(c)) {
      marks();
    } else if (((c == '!' && line_.substr(at_ + 1).starts_with('[')) || c == '[') && link()) {
    } else if (c == '<' && address()) {
    } else {
      const size_t end = line_.find_first_of("\\`*_~![<", at_ + 1);
      text(line_.substr(at_, end == std::string_view::npos ? end : end - at_));
      at_ = std::min(end, line_.size());
    }
  }

  void code() {
    const size_t length = run_length(line_, at_);
    const auto found = closing_.find(at_);
    if (found == closing_.end()) {
      text(line_.substr(at_, length));
      at_ += length;
      return;
    }
    std::string_view inner = line_.substr(at_ + length, found->second - at_ - length);
    if (inner.size() > 2 && inner.starts_with(' ') && inner.ends_with(' '))
      inner = inner.substr(1, inner.size() - 2);
    if (colour_ == Colour::kOff) inner = line_.substr(at_, found->second + length - at_);
    text(inner, kCyan);
    at_ = found->second + length;
  }

  void marks() {
    const char mark = line_[at_];
    const size_t length = run_length(line_, at_);
    const bool before = at_ > 0 && !is_space(line_, at_ - 1);
    const bool after = !is_space(line_, at_ + length);
    const bool inside_word = at_ > 0 && is_word(line_, at_ - 1) && is_word(line_, at_ + length);
    const bool counts = mark == '~' ? length == 2 : length <= 3 && !(mark == '_' && inside_word);
    if (counts && (before || after)) {
      pieces_.push_back(
          {.text = std::string(line_.substr(at_, length)), .mark = mark, .opens = after, .closes = before});
    } else {
      text(line_.substr(at_, length));
    }
    at_ += length;
  }

  // [text](address) and ![text](address)
  bool link() {
    const size_t open = line_[at_] == '!' ? at_ + 1 : at_;
    const size_t close = line_.find_first_of("[]", open + 1);
    if (close == std::string_view::npos || line_[close] != ']' || !line_.substr(close + 1).starts_with('('))
      return false;
    const size_t end = line_.find_first_of("() ", close + 2);
    if (end == std::string_view::npos || line_[end] == '(') return false;
    const size_t finish = line_[end] == ')' ? end : line_.find_first_of("()", end);
    if (finish == std::string_view::npos || line_[finish] != ')') return false;
    const std::string_view label = line_.substr(open + 1, close - open - 1);
    const std::string_view target = line_.substr(close + 2, end - close - 2);
    append_label(label.empty() ? target : label);
    if (label != target && !label.empty() && !target.empty()) text(" (" + std::string(target) + ")", kDim);
    at_ = finish + 1;
    return true;
  }

  // The label of a link may hold emphasis, but no link.
  void append_label(std::string_view label) {
    for (Span& each : Reader(label, kPlain, colour_).read())
      pieces_.push_back({.text = std::move(each.text), .face = each.face | kUnderline});
  }

  // <https://example.org>
  bool address() {
    const size_t end = line_.find_first_of("<> ", at_ + 1);
    if (end == std::string_view::npos || line_[end] != '>') return false;
    const std::string_view inner = line_.substr(at_ + 1, end - at_ - 1);
    if (!inner.contains("://") && !inner.starts_with("mailto:")) return false;
    text(inner, kUnderline);
    at_ = end + 1;
    return true;
  }

  static Face face_of(char mark, size_t length) {
    if (mark == '~') return kStrike;
    return length == 1 ? kItalic : length == 2 ? kBold : kBold | kItalic;
  }

  // Pairs the runs: each closing one with the nearest open one of the same marks. What stays open stays text.
  void match() {
    std::vector<size_t> open;
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.mark == 0) continue;
      if (piece.closes) {
        const auto found = std::find_if(open.rbegin(), open.rend(),
                                        [&](size_t at) { return pieces_[at].text == piece.text; });
        if (found != open.rend()) {
          pairs.emplace_back(*found, i);
          open.erase(std::prev(found.base()), open.end());
          continue;
        }
      }
      if (!piece.opens) continue;
      if (open.size() == kMaxEmphasisDepth) open.erase(open.begin());
      open.push_back(i);
    }
    apply(pairs);
  }

  // Pairs nest and never cross, so a count of what is open at each piece is enough.
  void apply(const std::vector<std::pair<size_t, size_t>>& pairs) {
    std::vector<std::optional<Face>> begins(pieces_.size()), ends(pieces_.size());
    for (const auto& [from, to] : pairs)
      begins[from] = ends[to] = face_of(pieces_[from].mark, pieces_[from].text.size());
    std::vector<Face> open;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (begins[i]) open.push_back(*begins[i]);
      for (const Face each : open) pieces_[i].face = pieces_[i].face | each;
      if (ends[i]) open.pop_back();
      if ((begins[i] || ends[i]) && colour_ == Colour::kOn) pieces_[i].text.clear();
    }
  }

  std::string_view line_;
  const Face base_;
  const Colour colour_;
  std::map<size_t, size_t> closing_;  // of code spans, by where they open
  std::vector<Piece> pieces_;
  size_t at_ = 0;
};

}  // namespace

Spans inline_markdown(std::string_view line, Face base, Colour colour) {
  return Reader(line, base, colour).read();
}

}  // namespace chela::tui
