#include "agent/dialects/tool_set.h"

#include <algorithm>
#include <array>

#include "agent/dialects/limits.h"
#include "schema/schema.h"

namespace chela::agent::dialects {
namespace {

struct Alias {
  std::string_view written;
  std::string_view meant;
};

constexpr std::array kAliases = std::to_array<Alias>({
    {"bash", "shell"},
    {"sh", "shell"},
    {"exec", "shell"},
    {"command", "shell"},
    {"cmd", "shell"},
    {"browser", "shell"},
    {"browser_open", "shell"},
    {"web_search", "web_search_tool"},
    {"websearch", "web_search"},
    {"websearch", "web_search_tool"},
    {"send_message", "message_send"},
    {"sendmessage", "message_send"},
    {"fileread", "file_read"},
    {"readfile", "file_read"},
    {"read_file", "file_read"},
    {"file", "file_read"},
    {"filewrite", "file_write"},
    {"writefile", "file_write"},
    {"write_file", "file_write"},
    {"filelist", "file_list"},
    {"listfiles", "file_list"},
    {"list_files", "file_list"},
    {"memoryrecall", "memory_recall"},
    {"recall", "memory_recall"},
    {"memrecall", "memory_recall"},
    {"memorystore", "memory_store"},
    {"store", "memory_store"},
    {"memstore", "memory_store"},
    {"memoryforget", "memory_forget"},
    {"forget", "memory_forget"},
    {"memforget", "memory_forget"},
    {"http", "http_request"},
    {"fetch", "http_request"},
    {"curl", "http_request"},
    {"wget", "http_request"},
});

struct Default {
  std::string_view tool;
  std::string_view parameter;
};

constexpr std::array kDefaults = std::to_array<Default>({
    {"shell", "command"},
    {"bash", "command"},
    {"sh", "command"},
    {"exec", "command"},
    {"command", "command"},
    {"cmd", "command"},
    {"file_read", "path"},
    {"file_write", "path"},
    {"file_list", "path"},
    {"file_edit", "path"},
    {"edit_file", "path"},
    {"read_file", "path"},
    {"write_file", "path"},
    {"list_files", "path"},
    {"memory_recall", "query"},
    {"memory_forget", "query"},
    {"web_search", "query"},
    {"web_search_tool", "query"},
    {"search", "query"},
    {"memory_store", "content"},
    {"http_request", "url"},
    {"web_fetch", "url"},
    {"http", "url"},
    {"fetch", "url"},
    {"browser", "url"},
    {"browser_open", "url"},
});

const json::Object* properties(const Tool& tool) {
  const json::Value* found = tool.parameters->find("properties");
  return found != nullptr ? found->as_object() : nullptr;
}

// The property that must be given, when it is one.
const std::string* only_required(const Tool& tool) {
  const json::Value* required = tool.parameters->find("required");
  const json::Array* names = required != nullptr ? required->as_array() : nullptr;
  return names != nullptr && names->size() == 1 ? names->front().as_string() : nullptr;
}

}  // namespace

ToolSet::ToolSet(std::vector<Tool> tools) {
  Map map;
  for (Tool& each : tools) {
    std::string name = each.name;
    if (!name.empty() && name.size() <= kMaxNameBytes) map.insert_or_assign(std::move(name), std::move(each));
  }
  std::vector<std::string> names;
  for (const auto& [name, tool] : map) names.push_back(name);
  for (const Alias& each : kAliases) {
    if (map.contains(each.meant)) names.emplace_back(each.written);
  }
  std::sort(names.begin(), names.end());
  tools_ = std::make_shared<const Map>(std::move(map));
  names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
}

bool ToolSet::begins_name(std::string_view beginning) const {
  const auto found = std::lower_bound(names_->begin(), names_->end(), beginning);
  return found != names_->end() && found->starts_with(beginning);
}

const Tool* ToolSet::find(std::string_view name) const {
  const auto found = tools_->find(name);
  return found != tools_->end() ? &found->second : nullptr;
}

const Tool* ToolSet::find_alias(std::string_view name) const {
  if (const Tool* known = find(name)) return known;
  for (const Alias& each : kAliases) {
    if (each.written != name) continue;
    if (const Tool* meant = find(each.meant)) return meant;
  }
  return nullptr;
}

const json::Value* property(const Tool& tool, std::string_view name) {
  const json::Object* known = properties(tool);
  return known != nullptr ? known->find(name) : nullptr;
}

bool declares_properties(const Tool& tool) {
  const json::Object* known = properties(tool);
  return known != nullptr && !known->empty();
}

json::Value typed(const Tool& tool, std::string_view name, std::string_view text) {
  if (const json::Value* wanted = property(tool, name)) return schema::coerce(*wanted, text);
  if (Result<json::Value> parsed = json::parse(text); parsed && (parsed->is_number() || parsed->is_bool()))
    return std::move(*parsed);
  return json::Value(text);
}

std::string default_parameter(const Tool& tool) {
  for (const Default& each : kDefaults) {
    if (each.tool != tool.name) continue;
    if (!declares_properties(tool) || property(tool, each.parameter) != nullptr)
      return std::string(each.parameter);
  }
  if (const std::string* required = only_required(tool)) return *required;
  const json::Object* known = properties(tool);
  return known != nullptr && known->size() == 1 ? known->begin()->key : "input";
}

json::Value lone_argument(const Tool& tool, std::string_view fallback, std::string_view text) {
  const std::string* required = only_required(tool);
  const std::string_view name =
      required != nullptr && property(tool, fallback) == nullptr ? *required : fallback;
  return json::Value::object({{std::string(name), typed(tool, name, text)}});
}

}  // namespace chela::agent::dialects
