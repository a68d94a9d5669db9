#include "infer/tool_result.h"

#include <array>

#include "base/strings.h"

namespace chela::infer {
namespace {

constexpr int kMaxWrappings = 3;
constexpr auto kErrorStarts = std::to_array<std::string_view>({"error:", "error (", "tool error", "failed:", "interrupted:", "denied", "refused", "not run:"});

// Takes one enclosing tag off. True when there was one.
bool unwrap(std::string_view& text, bool& says_error) {
  if (!text.starts_with('<')) return false;
  const auto open_end = text.find('>');
  if (open_end == std::string_view::npos || open_end < 2) return false;
  const auto tag = text.substr(1, open_end - 1);
  const auto name = tag.substr(0, tag.find(' '));
  const auto close = "</" + std::string(name) + ">";
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-") != std::string_view::npos || !text.ends_with(close)) return false;
  const auto attributes = strings::lower(tag.substr(name.size()));
  if (attributes.contains("error") && !attributes.contains("error=\"false\"")) says_error = true;
  text = strings::trim(text.substr(open_end + 1, text.size() - open_end - 1 - close.size()));
  return true;
}

}  // namespace

ToolResult read_tool_result(std::string_view content) {
  ToolResult out;
  auto text = strings::trim(content);
  for (int i = 0; i < kMaxWrappings && unwrap(text, out.is_error); ++i) {
  }
  out.text = std::string(text);
  if (text.starts_with('{') || text.starts_with('[')) {
    if (auto value = json::parse(text); value && (value->is_object() || value->is_array())) out.value = *std::move(value);
  }
  if (const auto* error = out.value.find("error"); error != nullptr && !error->is_null() && error->as_bool() != false) {
    out.is_error = true;
    out.text = error->as_string() != nullptr ? *error->as_string() : error->string_or("message", json::write(*error));
    out.value = nullptr;
    return out;
  }
  const auto low = strings::lower(text.substr(0, 32));
  for (const auto start : kErrorStarts) {
    if (low.starts_with(start)) out.is_error = true;
  }
  if (out.is_error && low.starts_with("error:")) out.text = std::string(strings::trim(text.substr(6)));
  return out;
}

}  // namespace chela::infer
