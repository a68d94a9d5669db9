#include "api/key_models.h"

#include <algorithm>

#include "agent/dependencies.h"
#include "api/openai_chat.h"
#include "base/strings.h"
#include "llm/backends/backends.h"

namespace chela::api {
namespace {

constexpr std::string_view kAgents = "chela";
constexpr std::string_view kChoose = "/model";
// What the engine chooses is nobody's model: the word itself has to be covered.
constexpr std::string_view kAuto = "auto";

bool covers(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

// All names that mean the same.
std::vector<std::string> names_of(const Services& services, std::string_view model) {
  std::vector<std::string> names{std::string(model)};
  const std::optional<std::string> agent = agent_of_model(model);
  if (agent) {
    // The default agent has two names.
    if (agent->empty()) names.push_back(fmt::format("{}/{}", kAgents, agent::kDefaultAgent));
    if (*agent == agent::kDefaultAgent) names.emplace_back(kAgents);
  } else if (services.backends != nullptr && model != kAuto) {
    const llm::ResolvedModel resolved = services.backends->resolve(model);
    // "openrouter/anthropic/x" is another account and price than "anthropic/x".
    if (!model.contains('/')) names.push_back(resolved.sent_as);
    names.push_back(fmt::format("{}/{}", resolved.provider, resolved.sent_as));
  }
  return names;
}

}  // namespace

std::vector<std::string> model_patterns(const op::Principal& principal) {
  std::vector<std::string> patterns;
  for (const std::string& each : principal.permissions) {
    if (each.starts_with(kModelPermission)) patterns.push_back(each.substr(kModelPermission.size()));
  }
  return patterns;
}

bool covers(const std::vector<std::string>& patterns, const std::vector<std::string>& names) {
  return std::any_of(patterns.begin(), patterns.end(), [&names](const std::string& pattern) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return covers(pattern, name); });
  });
}

bool may_use_model(const Services& services, const op::Principal& principal, std::string_view model) {
  const std::vector<std::string> patterns = model_patterns(principal);
  return patterns.empty() || covers(patterns, names_of(services, model));
}

Result<> check_model(const Services& services, const op::Principal& principal, std::string_view model) {
  if (may_use_model(services, principal, model)) return {};
  return fail(Error{.code = Code::kPermissionDenied,
                    .message = fmt::format("this key may not use the model '{}'; it may use {}", model,
                                           strings::join(model_patterns(principal), ", "))}
                  .with("param", "model")
                  .with("code", "model_not_allowed"));
}

Result<> check_agent(const Services& services, const op::Principal& principal, std::string_view agent,
                     std::string_view said) {
  if (model_patterns(principal).empty()) return {};
  const std::string name = agent.empty() ? std::string(kAgents) : fmt::format("{}/{}", kAgents, agent);
  if (Result<> may = check_model(services, principal, name); !may) return may;
  said = strings::trim(said);
  if (!strings::iequals(said.substr(0, kChoose.size()), kChoose)) return {};
  const std::string_view chosen = strings::trim(said.substr(kChoose.size()));
  if (chosen.empty() || strings::iequals(chosen, "default")) return {};
  return check_model(services, principal, chosen);
}

}  // namespace chela::api
