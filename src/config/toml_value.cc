#include "config/toml_value.h"

#include <sstream>

#include "config/toml.h"

namespace chela::config {
namespace {

json::Value value_of(const toml::node& node);

json::Value object_of(const toml::table& table) {
  json::Object out;
  for (const auto& [key, node] : table) out.append(std::string(key.str()), value_of(node));
  return out;
}

// The parser limits how deep a text may nest.
json::Value value_of(const toml::node& node) {
  if (const toml::table* table = node.as_table()) return object_of(*table);
  if (const toml::array* array = node.as_array()) {
    json::Array out;
    for (const toml::node& item : *array) out.push_back(value_of(item));
    return out;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  std::ostringstream date;
  node.visit([&date](const auto& each) {
    if constexpr (toml::is_date<decltype(each)> || toml::is_time<decltype(each)> ||
                  toml::is_date_time<decltype(each)>)
      date << each;
  });
  return date.str();
}

}  // namespace

Result<json::Value> parse_toml_value(std::string_view text, std::string_view path) {
  const Result<toml::table> root = parse_toml(text, path);
  if (!root) return fail(root.error());
  return object_of(*root);
}

}  // namespace chela::config
