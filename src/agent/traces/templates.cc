#include "agent/traces/templates.h"

#include <optional>

#include "base/strings.h"

namespace chela::agent::traces {
namespace {

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";

std::optional<std::string> field_of(const json::Value& result, std::string_view path) {
  const json::Value* at = &result;
  for (const std::string_view key : strings::split(path, '.')) {
    const json::Array* array = at->as_array();
    const std::optional<size_t> index = strings::parse_int<size_t>(key);
    if (array != nullptr)
      at = index && *index < array->size() ? &(*array)[*index] : nullptr;
    else
      at = at->find(key);
    if (at == nullptr) return std::nullopt;
  }
  return at->as_string() != nullptr ? *at->as_string() : json::write(*at);
}

// What stands for "call.field". Call ids may hold dots: the longest that is one counts.
std::optional<std::string> meant(std::string_view mark, const std::map<std::string, std::string>& results) {
  for (size_t dot = mark.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = mark.rfind('.', dot - 1)) {
    const auto found = results.find(std::string(mark.substr(0, dot)));
    if (found == results.end()) continue;
    const Result<json::Value> value = json::parse(without_frame(found->second));
    return value ? field_of(*value, mark.substr(dot + 1)) : std::nullopt;
  }
  return std::nullopt;
}

std::string filled_text(std::string_view text, const std::map<std::string, std::string>& results) {
  std::string out;
  for (size_t close = text.find(kClose); close != std::string_view::npos; close = text.find(kClose)) {
    const size_t open = text.substr(0, close).rfind(kOpen);
    const std::string_view whole = text.substr(0, close + kClose.size());
    text.remove_prefix(whole.size());
    std::optional<std::string> value;
    if (open != std::string_view::npos)
      value = meant(strings::trim(whole.substr(open + kOpen.size(), close - open - kOpen.size())), results);
    out += value ? whole.substr(0, open) : whole;
    if (value) out += *value;
  }
  return out.append(text);
}

}  // namespace

std::string_view without_frame(std::string_view text) {
  text = strings::trim(text);
  constexpr std::string_view kBegin = "<tool_output ";
  constexpr std::string_view kEnd = "</tool_output>";
  const size_t head = text.find('>');
  if (!text.starts_with(kBegin) || !text.ends_with(kEnd) || head + kEnd.size() >= text.size()) return text;
  text.remove_suffix(kEnd.size());
  text.remove_prefix(head + 1);
  return strings::trim(text);
}

json::Value filled(json::Value arguments, const std::map<std::string, std::string>& results) {
  if (const std::string* text = arguments.as_string()) return filled_text(*text, results);
  if (json::Array* array = arguments.as_array()) {
    for (json::Value& each : *array) each = filled(std::move(each), results);
  } else if (json::Object* object = arguments.as_object()) {
    for (json::Member& each : *object) each.value = filled(std::move(each.value), results);
  }
  return arguments;
}

}  // namespace chela::agent::traces
