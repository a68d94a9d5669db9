#include "tools/registry.h"

#include <algorithm>

#include "schema/schema.h"
#include "tools/names.h"

namespace chela::tools {

Result<> Registry::add(std::unique_ptr<Tool> tool, std::string group) {
  const ToolInfo& info = tool->info();
  if (!valid_name(info.name)) {
    return fail(Code::kInvalidArgument, "'{}' is no tool name: use 1 to {} of A-Z a-z 0-9 _ . : -",
                shown_name(info.name), kMaxToolName);
  }
  if (taken(info.name)) return fail(Code::kConflict, "there is a tool or alias named {} already", info.name);
  if (info.parameters->string_or("type") != "object") {
    return fail(Code::kInvalidArgument, "the parameters of the tool {} are no JSON Schema of type object",
                info.name);
  }
  if (const Result<> usable = schema::check_schema(info.parameters); !usable) {
    return fail(Code::kInvalidArgument, "the parameters of the tool {}: {}", info.name,
                usable.error().message);
  }
  std::string name = info.name;
  tools_.emplace(std::move(name), Entry{std::move(tool), std::move(group)});
  return {};
}

Result<> Registry::add_alias(std::string alias, std::string_view name) {
  if (!valid_name(alias)) return fail(Code::kInvalidArgument, "'{}' is no tool name", shown_name(alias));
  if (taken(alias)) return fail(Code::kConflict, "there is a tool or alias named {} already", alias);
  if (!tools_.contains(name))
    return fail(Code::kNotFound, "the alias {} names no tool: {}", alias, shown_name(name));
  aliases_.emplace(std::move(alias), std::string(name));
  return {};
}

bool Registry::taken(std::string_view name) const { return tools_.contains(name) || aliases_.contains(name); }

const Registry::Entry* Registry::entry(std::string_view name) const {
  const auto alias = aliases_.find(name);
  const auto found = tools_.find(alias == aliases_.end() ? name : std::string_view(alias->second));
  return found == tools_.end() ? nullptr : &found->second;
}

Tool* Registry::find(std::string_view name) const {
  const Entry* found = entry(name);
  return found ? found->tool.get() : nullptr;
}

std::string_view Registry::group(std::string_view name) const {
  const Entry* found = entry(name);
  return found ? std::string_view(found->group) : std::string_view();
}

bool Registry::allows(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [name](const std::string& pattern) { return glob_matches(pattern, name); });
}

std::vector<std::string> Registry::names(const std::vector<std::string>& patterns) const {
  std::vector<std::string> out;
  for (const auto& [name, each] : tools_) {
    if (allows(patterns, name)) out.push_back(name);
  }
  return out;
}

std::vector<llm::ToolSpec> Registry::specs(const std::vector<std::string>& patterns) const {
  std::vector<llm::ToolSpec> out;
  for (const auto& [name, each] : tools_) {
    const ToolInfo& info = each.tool->info();
    if (allows(patterns, name)) out.push_back({info.name, info.description, info.parameters});
  }
  return out;
}

}  // namespace chela::tools
