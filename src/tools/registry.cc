#include "tools/registry.h"

#include <algorithm>

#include "schema/schema.h"
#include "tools/names.h"

namespace chela::tools {

Result<> check_parameters(std::string_view name, const json::Value& parameters) {
  if (parameters.string_or("type") != "object")
    return fail(Code::kInvalidArgument, "the parameters of the tool {} are no JSON Schema of type object",
                name);
  if (const Result<> usable = schema::check_schema(parameters); !usable)
    return fail(Code::kInvalidArgument, "the parameters of the tool {}: {}", name, usable.error().message);
  return {};
}

Result<> Registry::add(std::unique_ptr<Tool> tool, std::string group) {
  const ToolInfo& info = tool->info();
  if (!valid_name(info.name)) {
    return fail(Code::kInvalidArgument, "'{}' is no tool name: use 1 to {} of A-Z a-z 0-9 _ . : -",
                shown_name(info.name), kMaxToolName);
  }
  if (taken(info.name)) return fail(Code::kConflict, "there is a tool or alias named {} already", info.name);
  if (Result<> usable = check_parameters(info.name, info.parameters); !usable) return usable;
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

void Registry::add_source(ToolSource& source, std::string group) {
  sources_.push_back({&source, std::move(group)});
}

Registry::Found Registry::entry(const Scope& scope, std::string_view name) const {
  const auto alias = aliases_.find(name);
  const auto found = tools_.find(alias == aliases_.end() ? name : std::string_view(alias->second));
  if (found != tools_.end()) return {.tool = found->second.tool, .group = found->second.group};
  for (const Source& each : sources_) {
    const std::vector<ToolPtr>& tools = each.source->tools(scope);
    const auto at = std::ranges::lower_bound(
        tools, name, std::less<>(), [](const ToolPtr& tool) { return std::string_view(tool->info().name); });
    if (at != tools.end() && (*at)->info().name == name) return {.tool = *at, .group = each.group};
  }
  return {};
}

std::set<std::string, std::less<>> Registry::groups() const {
  std::set<std::string, std::less<>> all;
  for (const auto& [name, entry] : tools_) all.insert(entry.group);
  for (const Source& each : sources_) all.insert(each.group);
  return all;
}

ToolPtr Registry::find(const Scope& scope, std::string_view name) const { return entry(scope, name).tool; }

std::string_view Registry::group(const Scope& scope, std::string_view name) const {
  return entry(scope, name).group;
}

bool Registry::has_own(const Scope& scope) const {
  return std::ranges::any_of(sources_,
                             [&scope](const Source& each) { return !each.source->tools(scope).empty(); });
}

std::uint64_t Registry::revision() const {
  std::uint64_t sum = tools_.size() + aliases_.size();
  for (const Source& each : sources_) sum += each.source->revision();
  return sum;
}

std::map<std::string_view, ToolPtr> Registry::all(const Scope& scope) const {
  std::map<std::string_view, ToolPtr> out;
  for (const auto& [name, each] : tools_) out.emplace(name, each.tool);
  for (const Source& each : sources_) {
    for (const ToolPtr& tool : each.source->tools(scope)) {
      if (!aliases_.contains(tool->info().name)) out.emplace(tool->info().name, tool);
    }
  }
  return out;
}

bool Registry::allows(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [name](const std::string& pattern) { return glob_matches(pattern, name); });
}

std::vector<std::string> Registry::names(const Scope& scope, const std::vector<std::string>& patterns) const {
  std::vector<std::string> out;
  for (const auto& [name, tool] : all(scope)) {
    if (allows(patterns, name)) out.emplace_back(name);
  }
  return out;
}

std::vector<llm::ToolSpec> Registry::specs(const Scope& scope,
                                           const std::vector<std::string>& patterns) const {
  std::vector<llm::ToolSpec> out;
  for (const auto& [name, tool] : all(scope)) {
    const ToolInfo& info = tool->info();
    if (allows(patterns, name)) out.push_back({info.name, info.description, info.parameters});
  }
  return out;
}

}  // namespace chela::tools
