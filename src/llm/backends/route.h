#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "llm/models.h"
#include "llm/providers.h"

namespace chela::llm {

// The configured backend, as names of models are concerned.
struct BackendShape {
  std::string id;              // "openai", "groq", "openai_compatible", "local"
  bool takes_any = false;      // may have models of any name, "openai/gpt-4o" among them
  std::string own_model = {};  // that was configured for it: its own whatever the catalog says
};

// Where a model's name leads.
struct Route {
  enum class To { kBackend, kProvider, kLocal };
  To to = To::kBackend;
  const ProviderEntry* provider = nullptr;  // of kProvider
  std::string model;                        // the name there, without the provider's
};

// In this order: what was configured for the backend is the backend's; "local/..." is of this machine; "PROVIDER/MODEL" is the
// provider's, and so is an id or alias of the catalog, those of the backend first, then those of a provider that can be used; where that
// one cannot be used, a backend that takes any name is asked for it; everything else goes to the backend as it is.
Route route(std::string_view name, const Catalog& catalog, const Providers& providers,
            const BackendShape& backend, const std::function<bool(const ProviderEntry&)>& usable);

// What the provider itself calls a model of its: by the catalog, else the name as it is.
std::string sent_as(const Catalog& catalog, std::string_view provider, std::string_view model);

}  // namespace chela::llm
