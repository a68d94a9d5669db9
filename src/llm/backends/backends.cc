#include "llm/backends/backends.h"

#include "net/url.h"

namespace chela::llm {
namespace {

constexpr std::string_view kLocalDefault = "local/small";

std::string names_of(const Providers& providers) {
  std::string names = "local, openai_compatible";
  for (const ProviderEntry& each : providers.all()) names += ", " + each.id;
  return names;
}

// How the server of an address is to be spoken to: as the entry of the same host says, if there is one.
Quirks quirks_at(const std::string& base_url, const Providers& providers) {
  const Result<net::Url> url = net::Url::parse(base_url);
  if (!url) return {};
  for (const ProviderEntry& each : providers.all()) {
    const Result<net::Url> known = net::Url::parse(each.base_url);
    if (each.protocol == Protocol::kOpenAiChat && known && known->host_port() == url->host_port())
      return each.quirks;
  }
  return {};
}

// The entry of the configured backend. What the settings say of its address makes it a server of the person's own, which may need no key.
Result<ProviderEntry> entry_of(const config::LlmSettings& llm, const Providers& providers) {
  using config::LlmBackend;
  if (llm.backend == LlmBackend::kOpenAiCompatible) {
    return ProviderEntry{.id = "openai_compatible",
                         .name = "the configured provider",
                         .key = KeyNeed::kOptional,
                         .aggregator = true,
                         .quirks = quirks_at(llm.base_url, providers)};
  }
  const std::string id = llm.backend == LlmBackend::kOpenAi   ? "openai"
                         : llm.backend == LlmBackend::kOllama ? "ollama"
                                                              : llm.provider;
  if (Result<> there = check_backend(id, providers); !there) return fail(std::move(there.error()));
  const ProviderEntry* known = providers.find(id);
  ProviderEntry entry = *known;
  const bool own_address = !llm.base_url.empty() && llm.base_url != known->base_url;
  if (own_address || !llm.unix_socket.empty()) entry.key = KeyNeed::kOptional;
  return entry;
}

Task<Result<std::unique_ptr<Provider>>> make_adapter(ProviderEntry entry, ProviderWishes wishes,
                                                     BackendParts parts) {
  Result<ProviderSetup> setup = co_await set_up(entry, std::move(wishes), parts.keys);
  if (!setup) co_return fail(std::move(setup.error()));
  co_return make_provider(entry, std::move(*setup), parts.http, parts.loop);
}

}  // namespace

Result<> check_backend(std::string_view name, const Providers& providers) {
  if (providers.find(name) != nullptr) return {};
  return fail(
      Code::kUnsupported,
      "llm.backend '{}' is not supported; use one of {}. A provider with an OpenAI-compatible address is "
      "openai_compatible with LLM_BASE_URL, or an entry of providers.toml",
      name, names_of(providers));
}

Backends::Backends(ModelData data, const config::LlmSettings& llm, BackendParts parts)
    : data_(std::move(data)),
      parts_(parts),
      max_retries_(llm.max_retries),
      breaker_limits_{.threshold = llm.breaker_threshold, .recovery = llm.breaker_recovery},
      stall_timeout_(llm.stall_timeout) {}

Result<std::unique_ptr<Backends>> Backends::create(const config::LlmSettings& llm,
                                                   const config::InferSettings& infer, ModelData data,
                                                   LocalPaths paths, BackendParts parts) {
  std::unique_ptr<Backends> made(new Backends(std::move(data), llm, parts));
  if (Result<> local = made->make_local(infer, std::move(paths)); !local)
    return fail(std::move(local.error()));
  if (Result<> backend = made->make_backend(llm); !backend) return fail(std::move(backend.error()));
  made->set_default_model(llm.model, llm.model_naming);
  return made;
}

Result<> Backends::make_local(const config::InferSettings& infer, LocalPaths paths) {
  local::InferOptions options{.program = std::move(paths.infer_program),
                              .models_dir = std::move(paths.models_dir),
                              .socket = std::move(paths.socket),
                              .threads = infer.threads,
                              .idle = infer.idle};
  Result<std::unique_ptr<local::LocalProvider>> local = local::LocalProvider::create(
      std::move(options), data_.catalog, parts_.loop, parts_.poller, parts_.http);
  if (!local) return fail(std::move(local.error()));
  local_ = local->get();
  const auto as_it_is = [](const std::string& model) { return model; };
  local_chain_ =
      std::make_unique<Chain>(std::move(*local), Quirks{}, as_it_is, chain_parts("the local model"));
  return {};
}

Result<> Backends::make_backend(const config::LlmSettings& llm) {
  if (llm.backend == config::LlmBackend::kLocal) {
    shape_ = {.id = "local"};
    backend_default_ = kLocalDefault;
    return {};
  }
  Result<ProviderEntry> entry = entry_of(llm, data_.providers);
  if (!entry) return fail(std::move(entry.error()));
  ProviderWishes wishes{.base_url = llm.base_url,
                        .address_key = llm.base_url_key,
                        .unix_socket = llm.unix_socket,
                        .api_key = llm.api_key,
                        .extra_headers = llm.extra_headers,
                        .stall_timeout = llm.stall_timeout};
  // A wrong address is said now, not at the first call.
  if (!wishes.base_url.empty()) {
    ProviderSetup trial{
        .base_url = wishes.base_url, .address_key = wishes.address_key, .unix_socket = wishes.unix_socket};
    if (auto made = make_provider(*entry, std::move(trial), parts_.http, parts_.loop); !made)
      return fail(std::move(made.error()));
  }
  shape_ = {.id = entry->id, .takes_any = entry->aggregator};
  backend_default_ = default_model_of(*entry, parts_.keys);
  backend_entry_ = std::make_unique<ProviderEntry>(*entry);
  backend_wishes_ = wishes;
  backend_ = chain(std::move(*entry), std::move(wishes));
  return {};
}

Chain::Parts Backends::chain_parts(std::string name) const {
  return {.loop = parts_.loop,
          .ids = parts_.ids,
          .name = std::move(name),
          .max_retries = max_retries_,
          .breaker = breaker_limits_,
          .count = parts_.count};
}

std::unique_ptr<Chain> Backends::chain(ProviderEntry entry, ProviderWishes wishes) {
  if (wishes.stall_timeout.count() <= 0) wishes.stall_timeout = kModelStallTimeout;
  const auto naming = [this, id = entry.id](const std::string& model) {
    return sent_as(data_.catalog, id, route_of(model).model);
  };
  Quirks quirks = entry.quirks;
  Chain::Parts beside = chain_parts(entry.name);
  auto make = [entry = std::move(entry), wishes = std::move(wishes), parts = parts_] {
    return make_adapter(entry, wishes, parts);
  };
  return std::make_unique<Chain>(std::make_unique<KeyedProvider>(std::move(make), parts_.keys),
                                 std::move(quirks), naming, std::move(beside));
}

Chain& Backends::chain_of(const ProviderEntry& entry) {
  std::unique_ptr<Chain>& there = chains_[entry.id];
  if (!there) there = chain(entry, {.stall_timeout = stall_timeout_});
  return *there;
}

void Backends::set_default_model(std::string model, config::ModelNaming naming) {
  const bool own = naming == config::ModelNaming::kBackend;
  default_model_ = model.empty() ? backend_default_ : std::move(model);
  shape_.own_model = own ? default_model_ : std::string();
}

bool Backends::usable(const ProviderEntry& entry) const { return is_usable(entry, parts_.keys); }

Route Backends::route_of(std::string_view model) const {
  return route(model.empty() ? std::string_view(default_model_) : model, data_.catalog, data_.providers,
               shape_, [this](const ProviderEntry& entry) { return usable(entry); });
}

ResolvedModel Backends::resolve(std::string_view model) const {
  if (model.empty()) model = default_model_;
  const Route to = route_of(model);
  ResolvedModel out{.provider = id_of(to), .sent_as = to.model, .usable = usable(to)};
  const ModelInfo* known = nullptr;
  if (out.provider != "local") {
    out.sent_as = sent_as(data_.catalog, out.provider, to.model);
    known = data_.catalog.of_provider(out.provider, out.sent_as);
    if (known == nullptr) known = data_.catalog.of_provider(out.provider, to.model);
  }
  out.info = known != nullptr ? *known : data_.catalog.find(model);
  out.info.id = std::string(model);
  return out;
}

const std::string& Backends::id_of(const Route& to) const {
  static const std::string kLocal = "local";
  if (to.to == Route::To::kLocal) return kLocal;
  return to.to == Route::To::kProvider ? to.provider->id : shape_.id;
}

bool Backends::usable(const Route& to) const {
  if (to.to == Route::To::kProvider) return usable(*to.provider);
  if (to.to == Route::To::kLocal || !backend_entry_) return true;
  return !backend_wishes_.api_key.empty() || usable(*backend_entry_);
}

std::string Backends::provider_id(std::string_view model) const { return id_of(route_of(model)); }

FailOver::Target Backends::target(std::string_view model) const {
  const Route to = route_of(model);
  FailOver::Target out{.provider = id_of(to), .sent_as = to.model, .usable = usable(to)};
  const ProviderEntry* entry = to.to == Route::To::kProvider  ? to.provider
                               : to.to == Route::To::kBackend ? backend_entry_.get()
                                                              : nullptr;
  if (out.provider != "local") out.sent_as = sent_as(data_.catalog, out.provider, to.model);
  out.goes_on = entry != nullptr && entry->quirks.prefill;
  return out;
}

Result<> Backends::check(std::string_view model) const {
  const Route to = route_of(model);
  if (to.to == Route::To::kProvider && !usable(*to.provider)) return fail(key_missing(*to.provider));
  return {};
}

Provider& Backends::provider_for(std::string_view model) {
  const Route to = route_of(model);
  if (to.to == Route::To::kProvider) return chain_of(*to.provider).front();
  if (to.to == Route::To::kBackend && backend_) return backend_->front();
  return local_chain_->front();
}

Task<Result<Embeddings>> Backends::embed(EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                         std::stop_token stop) {
  const Route to = route_of(request.model);
  const bool backend = to.to == Route::To::kBackend && backend_entry_;
  if (to.to != Route::To::kProvider && !backend)
    co_return co_await local_->embed(std::move(request), deadline, std::move(stop));
  const ProviderEntry entry = backend ? *backend_entry_ : *to.provider;
  ProviderWishes wishes = backend ? backend_wishes_ : ProviderWishes{.stall_timeout = stall_timeout_};
  if (wishes.stall_timeout.count() <= 0) wishes.stall_timeout = kModelStallTimeout;
  Result<ProviderSetup> setup = co_await set_up(entry, std::move(wishes), parts_.keys);
  if (!setup) co_return fail(std::move(setup.error()));
  const Result<std::unique_ptr<EmbeddingProvider>> made = make_embeddings(
      entry, sent_as(data_.catalog, entry.id, to.model), std::move(*setup), parts_.http, parts_.loop);
  if (!made) co_return fail(made.error());
  co_return co_await (*made)->embed(std::move(request), deadline, std::move(stop));
}

}  // namespace chela::llm
