#include "config/toml_file.h"

#include "base/strings.h"
#include "config/toml.h"

namespace chela::config {
namespace {

// A scalar as text; nothing for what no key can be (dates, tables in lists).
std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

Result<> flatten(const toml::table& table, const std::string& prefix, std::string_view path,
                 std::vector<FileValue>& out) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const int line = static_cast<int>(node.source().begin.line);
    if (const toml::table* inner = node.as_table()) {
      Result<> read = flatten(*inner, name + ".", path, out);
      if (!read) return read;
      continue;
    }
    std::vector<std::string> items;
    bool good = true;
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& item : *array) {
        const auto text = scalar(item);
        good = good && text && text->find(',') == std::string::npos;
        items.push_back(text.value_or(""));
      }
    } else {
      const auto text = scalar(node);
      good = text.has_value();
      items.push_back(text.value_or(""));
    }
    if (!good)
      return fail(Code::kInvalidArgument,
                  "{}:{}: {} is neither a text, number, true or false nor a list of such", path, line, name);
    out.push_back({name, strings::join(items, ","), line});
  }
  return {};
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, std::string_view path) {
  try {
    return toml::table(toml::parse(text, path));
  } catch (const toml::parse_error& e) {
    return fail(Code::kInvalidArgument, "{}:{}: {}", path, e.source().begin.line, e.description());
  } catch (const std::exception& e) {
    return fail(Code::kInvalidArgument, "{}: {}", path, e.what());
  }
}

Result<std::vector<FileValue>> read_toml(std::string_view text, std::string_view path) {
  const Result<toml::table> root = parse_toml(text, path);
  if (!root) return fail(root.error());
  std::vector<FileValue> values;
  if (const Result<> read = flatten(*root, "", path, values); !read) return fail(read.error());
  return values;
}

}  // namespace chela::config
