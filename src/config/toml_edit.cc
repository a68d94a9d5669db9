#include "config/toml_edit.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/strings.h"
#include "config/toml.h"
#include "config/toml_file.h"

namespace chela::config {
namespace {

using Values = std::map<std::string, std::string>;

std::optional<Values> values_of(std::string_view text, std::string_view path) {
  const Result<std::vector<FileValue>> read = read_toml(text, path);
  if (!read) return std::nullopt;
  Values values;
  for (const FileValue& each : *read) values[each.name] = each.text;
  return values;
}

// The byte where a position of the parser is; it counts columns in characters.
size_t offset_of(std::string_view text, const toml::source_position& position) {
  size_t at = 0;
  for (toml::source_index line = 1; line < position.line; ++line) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return text.size();
    at = end + 1;
  }
  for (toml::source_index column = 1; column < position.column && at < text.size(); ++column) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

std::string quoted(std::string_view value) {
  std::string out;
  json::write_string_to(
      out, value);  // a basic string of TOML knows all escapes of JSON, and wants DEL escaped too
  return strings::replace_all(std::move(out), "\x7f", "\\u007F");
}

std::string replaced(std::string_view text, const toml::source_region& region, const std::string& with) {
  const size_t begin = offset_of(text, region.begin);
  const size_t end = std::max(begin, offset_of(text, region.end));
  return std::string(text.substr(0, begin)) + with + std::string(text.substr(end));
}

// Behind the line `[section]`, or behind a new one at the end.
std::string inserted(std::string_view text, std::string_view section, const std::string& line) {
  const std::string header = fmt::format("[{}]", section);
  size_t at = 0;
  for (const std::string_view each : strings::split(text, '\n')) {
    const size_t end = at + each.size();
    const std::string_view words = strings::trim(each.substr(0, each.find('#')));
    if (words == header) {
      const bool last = end >= text.size();
      return std::string(text.substr(0, end)) + "\n" + line + (last ? "\n" : "") +
             std::string(text.substr(end));
    }
    at = end + 1;
  }
  std::string out(text);
  if (!out.empty() && !out.ends_with('\n')) out += '\n';
  if (!out.empty()) out += '\n';
  return out + header + "\n" + line + "\n";
}

}  // namespace

Result<std::string> set_toml_text(std::string_view text, std::string_view key, std::string_view value,
                                  std::string_view path) {
  const Result<toml::table> table = parse_toml(text, path);
  if (!table) return fail(table.error());
  const size_t dot = key.find('.');
  const std::string section(key.substr(0, dot));
  const std::string name(key.substr(dot + 1));
  const toml::node_view<const toml::node> node = (*table)[section][name];
  std::string edited = node ? replaced(text, node.node()->source(), quoted(value))
                            : inserted(text, section, name + " = " + quoted(value));
  // What was made is believed only when it reads as the old values with this one changed.
  std::optional<Values> before = values_of(text, path);
  const std::optional<Values> after = values_of(edited, path);
  if (before) (*before)[std::string(key)] = value;
  if (before && after && *before == *after) return edited;
  return fail(Code::kInvalidArgument,
              "{} is written in a way that {} cannot be set in; write {} = {} there yourself", path, key, key,
              quoted(value));
}

}  // namespace chela::config
