#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "llm/backends/chain.h"
#include "llm/backends/fail_over.h"
#include "llm/backends/keyed_provider.h"
#include "llm/backends/provider_setup.h"
#include "llm/backends/route.h"
#include "llm/embeddings.h"
#include "llm/local/local_provider.h"
#include "llm/models.h"
#include "llm/providers.h"

namespace chela::llm {

// What the providers are made of; all of it outlives them.
struct BackendParts {
  runtime::EventLoop& loop;
  os::Poller& poller;
  net::HttpClient& http;
  runtime::IdSource& ids;
  ProviderKeys& keys;
  // What counts the attempts of a provider's calls: stands before each provider, behind its repetitions. May be empty.
  std::function<std::unique_ptr<Provider>(Provider& inner)> count = {};
};

struct LocalPaths {
  std::string infer_program;  // local::beside_this_program("chela-infer") unless a person said otherwise
  std::string models_dir;
  std::string socket;  // "$CHELA_HOME/run/infer.sock"
};

// What is known of models and providers: the files of share/ with a person's own laid over them.
struct ModelData {
  Catalog catalog;
  Providers providers;
};

// Where a model's name leads, for people.
struct ResolvedModel {
  std::string provider;  // "groq", "openai_compatible", "local"
  std::string sent_as;   // the provider's own name of the model
  ModelInfo info;        // its id is the name that was asked about
  bool usable = false;   // the provider has a key, or needs none
};

// kUnsupported, naming those there are, when no provider of the name can be the backend.
Result<> check_backend(std::string_view name, const Providers& providers);

// All providers of this engine: the configured backend, the models of this machine ("local/..."), and every other provider that the
// data knows, made when it is first asked. Each stands behind a Chain. The owner awaits stop() before it destroys it.
class Backends {
 public:
  // kInvalidArgument for a base URL that is none, kUnsupported for a backend that there is none of.
  static Result<std::unique_ptr<Backends>> create(const config::LlmSettings& llm,
                                                  const config::InferSettings& infer, ModelData data,
                                                  LocalPaths paths, BackendParts parts);

  const std::string& backend_id() const { return shape_.id; }
  const std::string& default_model() const { return default_model_; }
  // What is asked from now on when nobody names one; "" is the backend's own default.
  void set_default_model(std::string model, config::ModelNaming naming);
  // What is known of the model: context window, how much prompt it gets, its price. "" is the default one.
  ModelInfo info(std::string_view model) const { return resolve(model).info; }
  ResolvedModel resolve(std::string_view model) const;
  // Where a name leads, as far as calls are concerned, and the id of the provider alone.
  FailOver::Target target(std::string_view model) const;
  std::string provider_id(std::string_view model) const;
  // kUnavailable, with what to do, when the model's provider has no key.
  Result<> check(std::string_view model) const;
  // Which provider answers for the model, "" being the default one; see route().
  Provider& provider_for(std::string_view model);
  Provider& default_provider() { return provider_for(default_model_); }
  // Texts as vectors of the model, of the provider that its name leads to. kUnsupported when that has none.
  Task<Result<Embeddings>> embed(EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                 std::stop_token stop);

  const Catalog& catalog() const { return data_.catalog; }
  const Providers& providers() const { return data_.providers; }
  // By its key alone; whether it answers only a call tells.
  bool usable(const ProviderEntry& entry) const;

  // Ends chela-infer.
  Task<> stop() { return local_->stop(); }

 private:
  Backends(ModelData data, const config::LlmSettings& llm, BackendParts parts);
  Result<> make_backend(const config::LlmSettings& llm);
  Result<> make_local(const config::InferSettings& infer, LocalPaths paths);
  Route route_of(std::string_view model) const;
  const std::string& id_of(const Route& to) const;
  bool usable(const Route& to) const;
  Chain& chain_of(const ProviderEntry& entry);
  std::unique_ptr<Chain> chain(ProviderEntry entry, ProviderWishes wishes);
  Chain::Parts chain_parts(std::string name) const;

  const ModelData data_;
  const BackendParts parts_;
  const int max_retries_;
  const BreakerLimits breaker_limits_;
  const std::chrono::milliseconds stall_timeout_;
  BackendShape shape_;
  std::string backend_default_;  // asked when a person names no model at all
  std::string default_model_;
  std::unique_ptr<ProviderEntry> backend_entry_;  // empty when the backend is the local one
  ProviderWishes backend_wishes_;
  std::unique_ptr<Chain> backend_;
  std::map<std::string, std::unique_ptr<Chain>> chains_;  // of other providers, by id
  local::LocalProvider* local_ = nullptr;                 // in local_chain_
  std::unique_ptr<Chain> local_chain_;
};

}  // namespace chela::llm
