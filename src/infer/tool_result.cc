#include "infer/tool_result.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace chela::infer {
namespace {

constexpr int kMaxWrappings = 3;
constexpr std::string_view kOurError = "Error: ";
constexpr auto kErrorKeys = std::to_array<std::string_view>(
    {"error", "code", "message", "status", "success", "context", "type", "is_error"});
constexpr auto kErrorStarts = std::to_array<std::string_view>(
    {"error:", "error (", "tool error", "failed:", "interrupted:", "denied", "refused", "not run:"});
// How the engine says that a person did not allow a call.
constexpr std::string_view kDeclined = "The person declined ";

// Takes one enclosing tag off. True when there was one.
bool unwrap(std::string_view& text, bool& says_error) {
  if (!text.starts_with('<')) return false;
  const auto open_end = text.find('>');
  if (open_end == std::string_view::npos || open_end < 2) return false;
  const auto tag = text.substr(1, open_end - 1);
  const auto name = tag.substr(0, tag.find(' '));
  const auto close = "</" + std::string(name) + ">";
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-") != std::string_view::npos ||
      !text.ends_with(close))
    return false;
  const auto attributes = strings::lower(tag.substr(name.size()));
  if (attributes.contains("error") && !attributes.contains("error=\"false\"")) says_error = true;
  text = strings::trim(text.substr(open_end + 1, text.size() - open_end - 1 - close.size()));
  return true;
}

// {"error": ...} with nothing beside it but words about the error.
const json::Value* error_member(const json::Value& value) {
  const auto* error = value.find("error");
  if (error == nullptr || error->is_null() || error->as_bool() == false) return nullptr;
  for (const auto& [key, other] : *value.as_object()) {
    if (std::find(kErrorKeys.begin(), kErrorKeys.end(), key) == kErrorKeys.end()) return nullptr;
  }
  return error;
}

void recognise_error(ToolResult& result) {
  if (const auto* error = error_member(result.value)) {
    result.is_error = true;
    result.text = error->as_string() != nullptr ? *error->as_string()
                                                : error->string_or("message", json::write(*error));
    result.value = nullptr;
    return;
  }
  const auto low = strings::lower(result.text.substr(0, 32));
  for (const auto start : kErrorStarts) {
    if (low.starts_with(start)) result.is_error = true;
  }
}

}  // namespace

ToolResult read_tool_result(std::string_view content) {
  ToolResult out;
  auto text = strings::trim(content);
  int wrappings = 0;
  while (wrappings < kMaxWrappings && unwrap(text, out.is_error)) ++wrappings;
  out.text = std::string(text);
  if (text.starts_with('{') || text.starts_with('[')) {
    if (auto value = json::parse(text); value && (value->is_object() || value->is_array()))
      out.value = *std::move(value);
  }
  if (text.starts_with(kOurError)) {
    out.is_error = true;
    out.text = std::string(strings::trim(text.substr(kOurError.size())));
  }
  if (wrappings == 0 && out.text.starts_with(kDeclined)) {
    out.is_error = out.is_declined = true;
  } else if (wrappings == 0 && !out.is_error) {
    // What stands in a wrapping is a file's or a page's own text, whatever it says.
    recognise_error(out);
  }
  return out;
}

}  // namespace chela::infer
