#include "agent/prompt_sources.h"

#include <algorithm>

#include "agent/dialects/prompted.h"
#include "agent/prompt.h"
#include "base/limits.h"
#include "crypto/hash.h"

namespace chela::agent {

std::set<std::string> PromptSources::run_by_client(const Scope& scope,
                                                   const std::vector<llm::ToolSpec>& client_tools) const {
  std::set<std::string> names;
  for (const llm::ToolSpec& tool : client_tools) {
    if (registry_.find(scope, tool.name) == nullptr) names.insert(tool.name);
  }
  return names;
}

turn::ToolListPtr PromptSources::tools_of(const Scope& scope, const AgentSpec& agent,
                                          std::vector<llm::ToolSpec> client_tools) {
  if (tools_revision_ != registry_.revision() || tools_.size() >= kMaxKnownPrompts) tools_.clear();
  tools_revision_ = registry_.revision();
  std::erase_if(client_tools,
                [&](const llm::ToolSpec& tool) { return registry_.find(scope, tool.name) != nullptr; });
  if (client_tools.empty()) {
    std::string key = agent.name;
    if (registry_.has_own(scope)) key += '\0' + scope.realm + '\0' + scope.user;
    turn::ToolListPtr& own = tools_[key];
    if (own == nullptr) own = turn::make_tool_list(registry_.specs(scope, agent.tools));
    return own;
  }
  std::vector<llm::ToolSpec> all = registry_.specs(scope, agent.tools);
  std::move(client_tools.begin(), client_tools.end(), std::back_inserter(all));
  return turn::make_tool_list(std::move(all));
}

Task<Result<>> PromptSources::put(Scope scope, std::string hash, std::string content) {
  std::string key = scope.realm + '\0' + scope.user + '\0' + hash;
  if (stored_.contains(key)) co_return Result<>{};
  Result<> stored = co_await blobs_.put(std::move(scope), std::move(hash), std::move(content));
  if (!stored) co_return stored;
  if (stored_.size() >= max_known_blobs_) stored_.clear();
  stored_.insert(std::move(key));
  co_return stored;
}

void PromptSources::add_instructions(turn::Sources& sources) {
  if (sources.tools->specs.empty()) return;
  if (instructions_.size() >= kMaxKnownPrompts && !instructions_.contains(sources.tools->hash))
    instructions_.clear();
  std::string& text = instructions_[sources.tools->hash];
  if (text.empty()) text = dialects::tool_instructions(sources.tools->specs);
  sources.system += "\n\n---\n\n" + text;
}

dialects::ToolSet PromptSources::tool_set(const turn::ToolList& tools) {
  const auto known = tool_sets_.find(tools.hash);
  if (known != tool_sets_.end()) return known->second;
  std::vector<dialects::Tool> all;
  for (const llm::ToolSpec& each : tools.specs)
    all.push_back({.name = each.name, .parameters = each.parameters});
  if (tool_sets_.size() >= kMaxKnownPrompts) tool_sets_.clear();
  return tool_sets_.emplace(tools.hash, dialects::ToolSet(std::move(all))).first->second;
}

Task<Result<turn::Sources>> PromptSources::of(Scope scope, AgentSpec agent, Sections identity,
                                              std::string client_system,
                                              std::vector<llm::ToolSpec> client_tools,
                                              llm::ToolCalling calling) {
  turn::Sources sources{.system = system_prompt(agent, identity, client_system),
                        .system_hash = {},
                        .tools = tools_of(scope, agent, std::move(client_tools))};
  if (calling == llm::ToolCalling::kPrompted) add_instructions(sources);
  if (system_hashes_.size() >= kMaxKnownPrompts && !system_hashes_.contains(sources.system))
    system_hashes_.clear();
  std::string& hash = system_hashes_[sources.system];
  if (hash.empty()) hash = crypto::content_hash(sources.system);
  sources.system_hash = hash;
  if (Result<> stored = co_await put(scope, sources.system_hash, sources.system); !stored)
    co_return fail(std::move(stored.error()));
  if (Result<> stored = co_await put(scope, sources.tools->hash, sources.tools->text); !stored)
    co_return fail(std::move(stored.error()));
  co_return sources;
}

Task<Result<turn::Sources>> PromptSources::stored(Scope scope, std::string system_hash,
                                                  std::string tools_hash) {
  Result<std::string> system = co_await blobs_.get(scope, system_hash);
  if (!system) co_return fail(std::move(system.error()));
  Result<std::string> text = co_await blobs_.get(std::move(scope), std::move(tools_hash));
  if (!text) co_return fail(std::move(text.error()));
  Result<turn::ToolListPtr> tools = turn::tool_list_from_text(std::move(*text));
  if (!tools) co_return fail(std::move(tools.error()));
  co_return turn::Sources{
      .system = std::move(*system), .system_hash = std::move(system_hash), .tools = std::move(*tools)};
}

}  // namespace chela::agent
