#include "agent/dialects/perl_calls.h"

namespace chela::agent::dialects {
namespace {

constexpr std::string_view kKeyChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

// Reads from the front of a text.
class Front {
 public:
  explicit Front(std::string_view text) : rest_(text) {}

  bool take(std::string_view text) {
    rest_ = rest_.substr(std::min(rest_.find_first_not_of(" \t\r\n,"), rest_.size()));
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::optional<std::string_view> quoted() {
    if (!take("\"")) return std::nullopt;
    const size_t end = rest_.find('"');
    if (end == std::string_view::npos || rest_.substr(0, end).find('\\') != std::string_view::npos)
      return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string_view key() {
    const size_t size = std::min(rest_.find_first_not_of(kKeyChars), rest_.size());
    const std::string_view key = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return key;
  }
  bool at_end() { return take("") && rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::optional<Call> perl_call(std::string_view text, const ToolSet& tools) {
  Front in(text);
  if (!in.take("{") || !in.take("tool") || !in.take("=>")) return std::nullopt;
  const std::optional<std::string_view> name = in.quoted();
  const Tool* tool = name ? tools.find_alias(strings::trim(*name)) : nullptr;
  if (tool == nullptr || !in.take("args") || !in.take("=>") || !in.take("{")) return std::nullopt;
  Call call{.name = tool->name};
  while (!in.take("}")) {
    if (!in.take("--")) return std::nullopt;
    const std::string_view key = in.key();
    const std::optional<std::string_view> value = in.quoted();
    if (key.empty() || !value || call.arguments.find(key) != nullptr) return std::nullopt;
    call.arguments.set(std::string(key), typed(*tool, key, *value));
  }
  if (!in.take("}") || !in.at_end()) return std::nullopt;
  return call;
}

std::optional<Call> function_call(std::string_view text, const ToolSet& tools) {
  constexpr std::string_view kOpen = "<code>";
  constexpr std::string_view kClose = "</code>";
  text = strings::trim(text);
  const size_t open = text.find(kOpen);
  if (open == std::string_view::npos || !text.ends_with(kClose)) return std::nullopt;
  const Tool* tool = tools.find_alias(strings::trim(text.substr(0, open)));
  text.remove_prefix(open + kOpen.size());
  if (tool == nullptr || text.size() < kClose.size()) return std::nullopt;
  text.remove_suffix(kClose.size());
  if (text.find('<') != std::string_view::npos) return std::nullopt;
  Call call{.name = tool->name};
  for (const std::string_view line : strings::split(text, '\n')) {
    if (strings::trim(line).empty()) continue;
    const size_t mark = line.find('>');
    const std::string_view key = strings::trim(line.substr(0, std::min(mark, line.size())));
    if (mark == std::string_view::npos || key.empty() ||
        key.find_first_not_of(kKeyChars) != std::string_view::npos || call.arguments.find(key) != nullptr)
      return std::nullopt;
    call.arguments.set(std::string(key), typed(*tool, key, strings::trim(line.substr(mark + 1))));
  }
  if (call.arguments.as_object()->empty()) return std::nullopt;
  return call;
}

}  // namespace chela::agent::dialects
