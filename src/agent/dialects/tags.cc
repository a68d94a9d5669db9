#include "agent/dialects/tags.h"

#include <algorithm>

#include "base/strings.h"

namespace chela::agent::dialects {
namespace {

bool is_element_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == ':' || c == '.';
}

// The value of the attribute `name` among attributes.
std::string_view name_attribute(std::string_view attributes) {
  while (true) {
    attributes = strings::trim(attributes);
    const size_t equals = attributes.find('=');
    if (equals == std::string_view::npos) return {};
    const std::string_view key = strings::trim(attributes.substr(0, equals));
    attributes = strings::trim(attributes.substr(equals + 1));
    if (attributes.empty() || (attributes.front() != '"' && attributes.front() != '\'')) return {};
    const size_t end = attributes.find(attributes.front(), 1);
    if (end == std::string_view::npos) return {};
    if (strings::iequals(key, "name")) return strings::trim(attributes.substr(1, end - 1));
    attributes.remove_prefix(end + 1);
  }
}

std::string_view unquoted(std::string_view text) {
  text = strings::trim(text);
  const bool quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

std::optional<Tag> parse_tag(std::string_view text) {
  if (text.size() < 3 || text.front() != '<' || text.back() != '>') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  Tag tag;
  if (text.starts_with('/')) {
    tag.kind = Tag::Kind::kClose;
    text.remove_prefix(1);
  } else if (text.ends_with('/')) {
    tag.kind = Tag::Kind::kAlone;
    text.remove_suffix(1);
  }
  const size_t end = std::min(
      static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_element_char) - text.begin()),
      text.size());
  tag.element = text.substr(0, end);
  if (tag.element.empty() || (tag.element.front() >= '0' && tag.element.front() <= '9')) return std::nullopt;
  const std::string_view rest = strings::trim(text.substr(end));
  if (rest.starts_with('=')) {
    tag.naming = Tag::Naming::kAssigned;
    tag.name = unquoted(rest.substr(1));
  } else if (!rest.empty()) {
    if (text[end] != ' ' && text[end] != '\t' && text[end] != '\n' && text[end] != '\r') return std::nullopt;
    tag.naming = Tag::Naming::kAttribute;
    tag.name = name_attribute(rest);
  }
  return tag;
}

bool TagEnd::decide(std::string_view view, More more) {
  for (; at_ < view.size() && at_ < from_ + kMaxTagBytes; ++at_) {
    const char c = view[at_];
    if (quote_ != 0) {
      if (c == quote_) quote_ = 0;
    } else if (c == '"' || c == '\'') {
      quote_ = c;
    } else if (c == '<') {
      found_ = Found::kNo;
      return true;
    } else if (c == '>') {
      ++at_;
      found_ = Found::kYes;
      return true;
    }
  }
  if (at_ >= from_ + kMaxTagBytes) {
    found_ = Found::kNo;
    return true;
  }
  return more == More::kNone;
}

bool is_thinking(std::string_view element) {
  element = element.substr(element.rfind(':') + 1);  // without its name space
  constexpr std::string_view kNames[] = {"think",      "thinking",    "thought",
                                         "thoughts",   "antthinking", "reasoning",
                                         "reflection", "scratchpad",  "inner_monologue"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view each) { return strings::iequals(each, element); });
}

}  // namespace chela::agent::dialects
