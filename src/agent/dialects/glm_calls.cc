#include "agent/dialects/glm_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/dialects/python_calls.h"

namespace chela::agent::dialects {
namespace {

using json::Value;
using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

constexpr std::string_view kSpace = " \t\r\n";

bool is_url(std::string_view text) {
  return (text.starts_with("http://") || text.starts_with("https://")) &&
         text.find_first_of(kSpace) == std::string_view::npos;
}

// For a POSIX shell, in single quotes.
std::string shell_quoted(std::string_view text) {
  return "'" + strings::replace_all(std::string(text), "'", "'\\''") + "'";
}

std::string_view unquoted(std::string_view text) {
  const bool quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// A value whose end may be that of a text that was cut: a quote is open.
bool is_cut(std::string_view value) { return std::count(value.begin(), value.end(), '"') % 2 != 0; }

bool browses(std::string_view written) { return written == "browser" || written == "browser_open"; }

// key="value" pairs and nothing else.
std::optional<Pairs> attributes(std::string_view text) {
  Pairs pairs;
  while (true) {
    text = text.substr(std::min(text.find_first_not_of(" \t\r\n,;"), text.size()));
    if (text.empty()) return pairs;
    const size_t key_end =
        std::min(static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_name_char) - text.begin()),
                 text.size());
    const std::string_view key = text.substr(0, key_end);
    text = strings::trim(text.substr(key_end));
    if (key.empty() || !text.starts_with('=')) return std::nullopt;
    text = strings::trim(text.substr(1));
    if (text.empty() || (text.front() != '"' && text.front() != '\'')) return std::nullopt;
    const size_t end = text.find(text.front(), 1);
    if (end == std::string_view::npos || text[end - 1] == '\\') return std::nullopt;
    pairs.emplace_back(key, text.substr(1, end - 1));
    text.remove_prefix(end + 1);
  }
}

// Lines `key: value`, of which the tool knows one key at least.
std::optional<Pairs> fields(const Tool& tool, std::string_view text) {
  Pairs pairs;
  bool known = !declares_properties(tool);
  for (std::string_view line : strings::split(text, '\n')) {
    line = strings::trim(line);
    if (line.empty()) continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    const std::string_view key = line.substr(0, colon);
    if (!std::all_of(key.begin(), key.end(), is_name_char)) return std::nullopt;
    known = known || property(tool, key) != nullptr;
    pairs.emplace_back(key, strings::trim(line.substr(colon + 1)));
  }
  return known && !pairs.empty() ? std::optional(std::move(pairs)) : std::nullopt;
}

// Nothing where a key is written twice: which value is meant?
std::optional<Call> from_pairs(const Tool& tool, const Pairs& pairs) {
  Call call{.name = tool.name};
  for (const auto& [key, text] : pairs) {
    if (call.arguments.find(key) != nullptr) return std::nullopt;
    call.arguments.set(std::string(key), typed(tool, key, text));
  }
  return call;
}

// YAML's words for true and false count where no text is wanted.
std::optional<Call> from_fields(const Tool& tool, const Pairs& pairs) {
  std::optional<Call> call = from_pairs(tool, pairs);
  if (!call) return std::nullopt;
  for (const auto& [key, text] : pairs) {
    Value& value = *call->arguments.find(key);
    const Value* wanted = property(tool, key);
    if (!value.is_string() || (wanted != nullptr && wanted->string_or("type") != "boolean")) continue;
    if (text == "true" || text == "yes") value = Value(true);
    if (text == "false" || text == "no") value = Value(false);
  }
  return call;
}

std::optional<Call> lone_value(const Tool& tool, std::string_view written, std::string_view value) {
  if (value.empty() || is_cut(value)) return std::nullopt;
  Call call{.name = tool.name};
  const std::string parameter = default_parameter(tool);
  if (declares_properties(tool) && property(tool, parameter) == nullptr) return std::nullopt;
  if (tool.name == "shell" && is_url(value)) {
    call.arguments.set(parameter, "curl -s " + shell_quoted(value));
  } else if (tool.name == "shell" && browses(written)) {
    return std::nullopt;
  } else if (tool.name == "http_request") {
    if (!is_url(value)) return std::nullopt;
    call.arguments.set(parameter, value);
    if (!declares_properties(tool) || property(tool, "method") != nullptr)
      call.arguments.set("method", "GET");
  } else {
    call.arguments.set(parameter, typed(tool, parameter, value));
  }
  return call;
}

std::optional<Call> from_value(const Tool& tool, std::string_view written, std::string_view value) {
  if (value.ends_with("/>")) value.remove_suffix(2);
  value = strings::trim(value);
  if (value.empty()) return std::nullopt;
  if (const std::optional<Pairs> pairs = attributes(value)) return from_pairs(tool, *pairs);
  if (value.find('\n') != std::string_view::npos ||
      property(tool, value.substr(0, value.find(':'))) != nullptr) {
    if (const std::optional<Pairs> pairs = fields(tool, value)) return from_fields(tool, *pairs);
  }
  return lone_value(tool, written, value);
}

std::optional<Call> from_brackets(const Tool& tool, std::string_view written, std::string_view text) {
  if (std::optional<Value> arguments = python_arguments(text))
    return Call{.name = tool.name, .arguments = std::move(*arguments)};
  if (!text.ends_with(')')) return std::nullopt;
  const std::string_view inner = strings::trim(text.substr(1, text.size() - 2));
  if (inner.find("=\"") != std::string_view::npos) return std::nullopt;
  return lone_value(tool, written, unquoted(inner));
}

}  // namespace

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':';
}

std::optional<Call> glm_body(std::string_view text, const ToolSet& tools) {
  text = strings::trim(text);
  const size_t name_end =
      static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_name_char) - text.begin());
  const std::string_view written = text.substr(0, name_end);
  const Tool* tool = tools.find_alias(written);
  if (tool == nullptr) return std::nullopt;
  const std::string_view rest = strings::trim(text.substr(name_end));
  if (rest.empty()) return Call{.name = tool->name};
  if (rest.front() == '(') return from_brackets(*tool, written, rest);
  if (rest.front() == '>') return from_value(*tool, written, rest.substr(1));
  std::string_view pairs_text = rest;
  if (pairs_text.ends_with("/>")) pairs_text.remove_suffix(1);
  if (pairs_text.ends_with('/')) pairs_text.remove_suffix(1);
  const std::optional<Pairs> pairs = attributes(pairs_text);
  return pairs ? from_pairs(*tool, *pairs) : std::nullopt;
}

std::optional<Call> glm_line(const Tool& tool, std::string_view written, std::string_view parameter,
                             std::string_view value) {
  value = strings::trim(value);
  const bool web = (tool.name == "shell" || tool.name == "http_request") && parameter == "url";
  const bool has =
      declares_properties(tool) ? property(tool, parameter) != nullptr : parameter == default_parameter(tool);
  if (value.empty() || (!has && !web)) return std::nullopt;
  if (web || parameter == default_parameter(tool)) {
    if (web && !is_url(value)) return std::nullopt;
    return lone_value(tool, written, value);
  }
  return from_pairs(tool, {{parameter, value}});
}

}  // namespace chela::agent::dialects
