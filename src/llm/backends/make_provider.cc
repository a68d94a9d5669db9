#include "llm/backends/make_provider.h"

#include "llm/anthropic/anthropic_provider.h"
#include "llm/bedrock/bedrock_provider.h"
#include "llm/embeddings/http_embeddings.h"
#include "llm/gemini/gemini_provider.h"
#include "llm/nearai/nearai_provider.h"
#include "llm/ollama/ollama_provider.h"
#include "llm/openai/openai_provider.h"
#include "llm/responses/responses_provider.h"

namespace chela::llm {
namespace {

// The entry's headers, then the setup's: a person's own word wins.
std::vector<std::pair<std::string, std::string>> headers_of(const ProviderEntry& entry,
                                                            const ProviderSetup& setup) {
  std::vector<std::pair<std::string, std::string>> headers = entry.headers;
  if (!entry.key_header.empty() && !setup.api_key.empty())
    headers.emplace_back(entry.key_header, setup.api_key);
  headers.insert(headers.end(), setup.extra_headers.begin(), setup.extra_headers.end());
  return headers;
}

wire::ServerOptions options_of(const ProviderEntry& entry, ProviderSetup& setup) {
  wire::ServerOptions options{.base_url = setup.base_url,
                              .address_key = setup.address_key,
                              .unix_socket = setup.unix_socket,
                              .extra_headers = headers_of(entry, setup),
                              .stall_timeout = setup.stall_timeout};
  if (entry.key_header.empty()) options.api_key = std::move(setup.api_key);
  return options;
}

openai::ChatManners manners_of(const Quirks& quirks) {
  return {.renamed_params = quirks.renamed_params,
          .stream_options = quirks.stream_options,
          .wants_reasoning = quirks.wants_reasoning};
}

template <class Adapter, class... Parts>
Result<std::unique_ptr<Provider>> make(wire::ServerOptions options, Parts&&... parts) {
  Result<std::unique_ptr<Adapter>> made = Adapter::create(std::move(options), std::forward<Parts>(parts)...);
  if (!made) return fail(std::move(made.error()));
  return std::move(*made);
}

}  // namespace

Result<std::unique_ptr<Provider>> make_provider(const ProviderEntry& entry, ProviderSetup setup,
                                                net::HttpClient& http, runtime::EventLoop& loop) {
  wire::ServerOptions options = options_of(entry, setup);
  switch (entry.protocol) {
    case Protocol::kOpenAiChat:
      return make<openai::OpenAiProvider>(std::move(options), http, loop, manners_of(entry.quirks));
    case Protocol::kOpenAiResponses:
      return make<responses::ResponsesProvider>(std::move(options), http, loop);
    case Protocol::kAnthropic:
      return make<anthropic::AnthropicProvider>(std::move(options), http, loop);
    case Protocol::kGemini:
      return make<gemini::GeminiProvider>(std::move(options), http, loop);
    case Protocol::kOllama:
      return make<ollama::OllamaProvider>(std::move(options), http, loop);
    case Protocol::kBedrock:
      return make<bedrock::BedrockProvider>(std::move(options), std::move(setup.variable), http, loop);
    case Protocol::kNearAi:
      return make<nearai::NearAiProvider>(std::move(options), std::move(setup.variable), http, loop);
  }
  return fail(Code::kInternal, "the protocol of '{}' has no adapter", entry.id);
}

Result<std::unique_ptr<EmbeddingProvider>> make_embeddings(const ProviderEntry& entry, std::string model,
                                                           ProviderSetup setup, net::HttpClient& http,
                                                           runtime::EventLoop& loop) {
  wire::ServerOptions options = options_of(entry, setup);
  Result<std::unique_ptr<embeddings::HttpEmbeddings>> made = embeddings::HttpEmbeddings::create(
      entry.protocol, entry.name, std::move(model), std::move(options), http, loop);
  if (!made) return fail(std::move(made.error()));
  return std::move(*made);
}

}  // namespace chela::llm
