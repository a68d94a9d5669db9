#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "llm/embeddings.h"
#include "llm/provider.h"
#include "llm/providers.h"
#include "net/http_client.h"
#include "runtime/event_loop.h"

namespace chela::llm {

// What an entry leaves open: which server, whose key.
struct ProviderSetup {
  std::string base_url;     // filled in, without placeholders
  std::string address_key;  // what says it, for messages: a setting, a variable, or the file of providers
  std::string unix_socket = {};  // connect here instead of to the URL's host
  std::string api_key = {};      // "" sends none
  std::vector<std::pair<std::string, std::string>> extra_headers = {};  // beside those of the entry
  std::chrono::milliseconds stall_timeout = kModelStallTimeout;
  // Variables of the environment, for protocols whose keys are more than one text; outlives the provider.
  std::function<std::string(std::string_view name)> variable = [](std::string_view) { return std::string(); };
};

// The adapter of the entry's protocol, bare: no quirks, no retries. kInvalidArgument for an address that is none. The one place where
// a protocol gets its adapter.
Result<std::unique_ptr<Provider>> make_provider(const ProviderEntry& entry, ProviderSetup setup,
                                                net::HttpClient& http, runtime::EventLoop& loop);

// What makes embeddings of the provider's model, by its own name. kUnsupported for a protocol that has none.
Result<std::unique_ptr<EmbeddingProvider>> make_embeddings(const ProviderEntry& entry, std::string model,
                                                           ProviderSetup setup, net::HttpClient& http,
                                                           runtime::EventLoop& loop);

}  // namespace chela::llm
