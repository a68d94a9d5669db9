#include "api/listed_models.h"

#include <algorithm>

#include "llm/backends/backends.h"

namespace chela::api {
namespace {

bool has(const std::vector<ListedModel>& models, std::string_view id) {
  return std::any_of(models.begin(), models.end(), [id](const ListedModel& each) { return each.id == id; });
}

}  // namespace

std::vector<ListedModel> listed_models(const Services& services, std::vector<std::string> offered) {
  const std::string backend = services.models().backend;
  const bool told = !offered.empty();
  std::vector<ListedModel> models;
  for (std::string& id : offered) models.push_back({.id = std::move(id), .provider = backend});
  if (services.backends == nullptr) return models;
  const llm::Backends& backends = *services.backends;
  for (const llm::ModelInfo& info : backends.catalog().models()) {
    if (info.is_pattern()) continue;
    const bool own = info.provider == backend;
    const llm::ProviderEntry* entry = backends.providers().find(info.provider);
    const bool other = entry != nullptr && entry->key == llm::KeyNeed::kRequired && backends.usable(*entry);
    // The backend's word goes before what is known of it: it may not have all models, once it says which.
    if (own ? told : !other) continue;
    std::string id = own ? info.id : info.full_id();
    if (!has(models, id)) models.push_back({.id = std::move(id), .provider = info.provider});
  }
  return models;
}

}  // namespace chela::api
