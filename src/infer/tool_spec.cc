#include "infer/tool_spec.h"

#include <array>

#include "base/strings.h"

namespace chela::infer {
namespace {

struct Known {
  std::string_view name;
  std::string_view parameters;  // that the rules fill, separated by spaces
};
constexpr auto kKnown = std::to_array<Known>({
    {"time", "operation"},
    {"calculator", "expression"},
    {"json", "operation data"},
    {"echo", "message"},
    {"memory_write", "content"},
    {"memory_search", "query"},
    {"memory_read", "path"},
    {"memory_tree", ""},
    {"read_file", "path"},
    {"write_file", "path content"},
    {"list_dir", "path"},
    {"shell", "command"},
});

}  // namespace

const json::Value* ToolSpec::property(std::string_view key) const {
  const auto* properties = parameters.find("properties");
  return properties == nullptr ? nullptr : properties->find(key);
}

std::vector<std::string> ToolSpec::required() const {
  std::vector<std::string> out;
  const auto* list = parameters.find("required");
  if (list == nullptr || list->as_array() == nullptr) return out;
  for (const auto& entry : *list->as_array()) {
    if (const auto* text = entry.as_string()) out.push_back(*text);
  }
  return out;
}

std::vector<std::string> ToolSpec::property_names() const {
  std::vector<std::string> out;
  const auto* properties = parameters.find("properties");
  if (properties == nullptr || properties->as_object() == nullptr) return out;
  for (const auto& [key, value] : *properties->as_object()) out.push_back(key);
  return out;
}

bool is_known(const ToolSpec& tool) {
  for (const auto& known : kKnown) {
    if (known.name != tool.name) continue;
    for (const auto parameter : strings::split(known.parameters, ' ')) {
      if (!parameter.empty() && tool.property(parameter) == nullptr) return false;
    }
    return true;
  }
  return false;
}

}  // namespace chela::infer
