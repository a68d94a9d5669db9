#include "llm/backends/route.h"

#include <algorithm>

namespace chela::llm {
namespace {

constexpr std::string_view kLocal = "local";

class Router {
 public:
  Router(const Catalog& catalog, const Providers& providers, const BackendShape& backend,
         const std::function<bool(const ProviderEntry&)>& usable)
      : catalog_(catalog), providers_(providers), backend_(backend), usable_(usable) {}

  Route find(std::string_view name) const {
    if (name == backend_.own_model) return to_backend(name);
    const std::string target = catalog_.aliased(name);
    const std::string_view meant = target.empty() ? name : std::string_view(target);
    const size_t slash = meant.find('/');
    if (slash != std::string_view::npos) {
      const std::string_view prefix = meant.substr(0, slash);
      if (prefix == kLocal) return {.to = Route::To::kLocal, .model = std::string(meant)};
      if (is_backend(prefix)) return to_backend(meant.substr(slash + 1));
      if (const ProviderEntry* entry = providers_.find(prefix))
        return to_provider(*entry, meant.substr(slash + 1), name);
      return to_backend(name);
    }
    return by_id(name);
  }

 private:
  // A catalog's id without a provider.
  Route by_id(std::string_view id) const {
    const std::vector<std::string> owners = catalog_.providers_of(id);
    if (std::ranges::any_of(owners, [this](const std::string& each) { return is_backend(each); }))
      return to_backend(id);
    const ProviderEntry* first = nullptr;
    for (const std::string& each : owners) {
      const ProviderEntry* entry = providers_.find(each);
      // A server of this machine that nobody configured is asked by its name only, while the backend may have the model.
      if (entry == nullptr || (entry->key == KeyNeed::kOptional && backend_.takes_any)) continue;
      if (usable_(*entry)) return to_provider(*entry, id, id);
      if (first == nullptr) first = entry;
    }
    return first != nullptr ? to_provider(*first, id, id) : to_backend(id);
  }

  bool is_backend(std::string_view name) const {
    if (name == backend_.id) return true;
    const ProviderEntry* entry = providers_.find(name);
    return entry != nullptr && entry->id == backend_.id;
  }

  Route to_backend(std::string_view model) const {
    return {.to = Route::To::kBackend, .model = std::string(model)};
  }

  Route to_provider(const ProviderEntry& entry, std::string_view model, std::string_view name) const {
    if (!usable_(entry) && backend_.takes_any) return to_backend(name);
    return {.to = Route::To::kProvider, .provider = &entry, .model = std::string(model)};
  }

  const Catalog& catalog_;
  const Providers& providers_;
  const BackendShape& backend_;
  const std::function<bool(const ProviderEntry&)>& usable_;
};

}  // namespace

Route route(std::string_view name, const Catalog& catalog, const Providers& providers,
            const BackendShape& backend, const std::function<bool(const ProviderEntry&)>& usable) {
  return Router(catalog, providers, backend, usable).find(name);
}

std::string sent_as(const Catalog& catalog, std::string_view provider, std::string_view model) {
  const std::string target = catalog.aliased(model);  // "" for an id of the catalog
  const bool own = target.starts_with(provider) && target.substr(provider.size(), 1) == "/";
  const std::string id = own ? target.substr(provider.size() + 1) : std::string(model);
  const ModelInfo* info = catalog.of_provider(provider, id);
  const bool exact = info != nullptr && info->id == id && !info->sent_as.empty();
  return exact ? info->sent_as : id;
}

}  // namespace chela::llm
