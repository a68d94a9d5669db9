#pragma once

#include <optional>
#include <string>

#include "llm/backends/make_provider.h"
#include "llm/backends/provider_keys.h"
#include "llm/providers.h"

namespace chela::llm {

// What a person said of a provider beside its entry: the settings of the configured backend. "" leaves it to the entry.
struct ProviderWishes {
  std::string base_url = {};
  std::string address_key = {};
  std::string unix_socket = {};
  std::string api_key = {};
  std::vector<std::pair<std::string, std::string>> extra_headers = {};
  std::chrono::milliseconds stall_timeout = kModelStallTimeout;
};

// The text with {NAME} replaced by the variable. kUnavailable names one that is not set.
Result<std::string> filled(std::string_view text, const ProviderKeys& keys);

// Whether the vault or a variable has the entry's key.
bool has_key(const ProviderEntry& entry, const ProviderKeys& keys);
// Whether calls can be made: there is a key, or none is needed.
bool is_usable(const ProviderEntry& entry, const ProviderKeys& keys);
// kUnavailable, reason "key_missing", with what to do about it.
Error key_missing(const ProviderEntry& entry);

// The model that is asked when a person names none: of the entry's variables the first that is set, else its own.
std::string default_model_of(const ProviderEntry& entry, const ProviderKeys& keys);

// All that the adapter needs. kUnavailable for a key or an address that is missing.
Task<Result<ProviderSetup>> set_up(ProviderEntry entry, ProviderWishes wishes, ProviderKeys& keys);

}  // namespace chela::llm
