#include "cli/approval_box.h"

#include <algorithm>

#include "base/limits.h"
#include "base/utf8.h"
#include "tui/glyphs.h"

namespace chela::cli {
namespace {

using json::Value;
using tui::Spans;

constexpr size_t kNarrowest = 40;
constexpr size_t kWidest = 60;

std::string repeated(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

// Both ends of the text, when it does not fit.
std::string both_ends(const std::string& text, size_t most) {
  if (tui::columns_of(text) <= most) return text;
  const std::string_view head = tui::fitting(text, most / 2);
  std::string_view tail = text;
  size_t tail_columns = tui::columns_of(tail);
  while (tail_columns > most - most / 2) {
    const tui::Glyph glyph = tui::first_glyph(tail);
    tail_columns -= glyph.columns;
    tail.remove_prefix(glyph.bytes.size());
  }
  const size_t between =
      utf8::length(std::string_view(text).substr(head.size(), text.size() - head.size() - tail.size()));
  return fmt::format("{} [… {} characters, v shows them …] {}", head, between, tail);
}

std::string value_text(const Value& value, size_t most, Shown shown) {
  const std::string text = tui::one_line(value.as_string() ? *value.as_string() : json::write(value));
  return shown == Shown::kWhole ? text : both_ends(text, most);
}

// Parameters come as a value, or as JSON in a text.
std::vector<Spans> parameters_of(const Value& event, Shown shown) {
  const Value* given = event.find("parameters");
  if (!given) return {};
  Value parameters = *given;
  if (parameters.as_string()) {
    if (Result<Value> parsed = json::parse(*parameters.as_string())) parameters = std::move(*parsed);
  }
  std::vector<Spans> lines;
  if (!parameters.is_object()) {
    lines.push_back({{.text = value_text(parameters, kMaxOtherParameterChars, shown)}});
    return lines;
  }
  for (const json::Member& each : *parameters.as_object()) {
    lines.push_back({{.text = tui::one_line(each.key) + ": ", .face = tui::kDim},
                     {.text = value_text(each.value, kMaxParameterChars, shown)}});
  }
  return lines;
}

}  // namespace

std::vector<Spans> approval_box(const Value& event, size_t columns, Shown shown) {
  const size_t width =
      std::clamp(columns > 4 ? columns - 4 : columns, std::min(kNarrowest, columns), kWidest);
  const size_t inner = width > 4 ? width - 4 : 1;
  std::vector<Spans> rows;
  const auto add = [&](const Spans& text) {
    for (const Spans& each : tui::wrap(text, inner, {}, {{.text = "  "}})) {
      const size_t taken = tui::columns_of(each);
      Spans row{{.text = "│ ", .face = tui::kYellow}};
      tui::append(row, each);
      tui::append(row, std::string(inner > taken ? inner - taken : 0, ' '), tui::kPlain);
      tui::append(row, " │", tui::kYellow);
      rows.push_back(std::move(row));
    }
  };
  const std::string title = "┌ May this run? ";
  rows.push_back({{.text = title + repeated("─", width - std::min(width, tui::columns_of(title) + 1)) + "┐",
                   .face = tui::kYellow}});
  Spans head{{.text = tui::one_line(event.string_or("tool_name")), .face = tui::kBold}};
  if (const std::string description = tui::one_line(event.string_or("description")); !description.empty())
    tui::append(
        head, "  " + (shown == Shown::kWhole ? description : both_ends(description, kMaxOtherParameterChars)),
        tui::kPlain);
  add(head);
  for (const Spans& each : parameters_of(event, shown)) add(each);
  rows.push_back(
      {{.text = "└" + repeated("─", width - std::min<size_t>(width, 2)) + "┘", .face = tui::kYellow}});
  return rows;
}

}  // namespace chela::cli
