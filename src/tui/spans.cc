#include "tui/spans.h"

#include <algorithm>

#include "tui/glyphs.h"

namespace chela::tui {
namespace {

constexpr size_t kFewestColumns = 4;  // of text beside an indentation; narrower, the indentation goes

std::string escape_of(Face face) {
  static constexpr std::pair<Face, std::string_view> kCodes[] = {
      {kBold, ";1"},  {kDim, ";2"},    {kItalic, ";3"},  {kUnderline, ";4"}, {kStrike, ";9"},
      {kCyan, ";36"}, {kGreen, ";32"}, {kYellow, ";33"}, {kRed, ";31"}};
  std::string codes;
  for (const auto& [bit, code] : kCodes) {
    if ((face & bit) != 0) codes += code;
  }
  return "\x1b[" + codes.substr(1) + "m";
}

// What stays together in a row: a word, or one wide character.
struct Unit {
  Spans text;
  size_t columns = 0;
  Spans space = {};  // before it
};

std::vector<Unit> units_of(const Spans& text) {
  std::vector<Unit> units(1);
  bool closed = false;  // the last unit takes no more
  for (const Span& span : text) {
    std::string_view left = span.text;
    while (!left.empty()) {
      const Glyph glyph = first_glyph(left);
      left.remove_prefix(glyph.bytes.size());
      const bool blank = glyph.bytes == " ";
      const bool alone = glyph.columns == 2;
      if ((closed || blank || alone) && units.back().columns > 0) units.emplace_back();
      closed = alone;
      append(blank ? units.back().space : units.back().text, glyph.bytes, span.face);
      if (!blank) units.back().columns += glyph.columns;
    }
  }
  return units;
}

class Wrapper {
 public:
  Wrapper(size_t columns, const Spans& first, const Spans& rest) : columns_(columns), rest_(rest) {
    begin(first);
  }

  void add(const Unit& unit) {
    if (unit.text.empty()) return;
    const bool continued = empty_ && !rows_.empty();  // the space before it is that of the break
    const size_t space = continued ? 0 : columns_of(unit.space);
    if (used_ + space + unit.columns <= columns_) {
      if (!continued) append(row_, unit.space);
      append(row_, unit.text);
      used_ += space + unit.columns;
      empty_ = false;
      return;
    }
    if (!empty_) next_row();
    add_broken(unit.text);
  }

  std::vector<Spans> take() {
    rows_.push_back(std::move(row_));
    return std::move(rows_);
  }

 private:
  void begin(const Spans& indent) {
    row_ = columns_of(indent) + kFewestColumns > columns_ ? Spans{} : indent;
    used_ = columns_of(row_);
    empty_ = true;
  }

  void next_row() {
    rows_.push_back(std::move(row_));
    begin(rest_);
  }

  void add_broken(const Spans& text) {
    for (const Span& span : text) {
      std::string_view left = span.text;
      while (!left.empty()) {
        const Glyph glyph = first_glyph(left);
        left.remove_prefix(glyph.bytes.size());
        if (used_ + glyph.columns > columns_ && !empty_) next_row();
        append(row_, glyph.bytes, span.face);
        used_ += glyph.columns;
        empty_ = false;
      }
    }
  }

  const size_t columns_;
  const Spans& rest_;
  std::vector<Spans> rows_;
  Spans row_;
  size_t used_ = 0;
  bool empty_ = true;  // nothing but the indentation
};

}  // namespace

void append(Spans& to, std::string_view text, Face face) {
  if (text.empty()) return;
  if (!to.empty() && to.back().face == face) {
    to.back().text += text;
  } else {
    to.push_back({.text = std::string(text), .face = face});
  }
}

void append(Spans& to, const Spans& more) {
  for (const Span& each : more) append(to, each.text, each.face);
}

size_t columns_of(const Spans& spans) {
  size_t columns = 0;
  for (const Span& each : spans) columns += columns_of(each.text);
  return columns;
}

std::string text_of(const Spans& spans) {
  std::string text;
  for (const Span& each : spans) text += each.text;
  return text;
}

std::string paint(const Spans& spans, Colour colour) {
  if (colour == Colour::kOff) return text_of(spans);
  std::string out;
  for (const Span& each : spans) {
    out += each.face == kPlain ? each.text : escape_of(each.face) + each.text + "\x1b[0m";
  }
  return out;
}

std::vector<Spans> wrap(const Spans& text, size_t columns, const Spans& first, const Spans& rest) {
  Wrapper wrapper(std::max<size_t>(columns, 2), first, rest);
  for (const Unit& unit : units_of(text)) wrapper.add(unit);
  return wrapper.take();
}

}  // namespace chela::tui
