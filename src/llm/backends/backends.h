#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "llm/local/local_provider.h"
#include "llm/models.h"
#include "llm/openai/openai_provider.h"
#include "llm/retry.h"

namespace chela::llm {

// What the providers are made of; all of it outlives them.
struct BackendParts {
  runtime::EventLoop& loop;
  os::Poller& poller;
  net::HttpClient& http;
  runtime::IdSource& ids;
};

struct LocalPaths {
  std::string infer_program;  // local::beside_this_program("chela-infer") unless a person said otherwise
  std::string models_dir;
  std::string socket;  // "$CHELA_HOME/run/infer.sock"
};

// The providers of this engine by its settings: the configured backend and, for ids that begin with "local/", the models of this
// machine. Each is wrapped in retries. The owner awaits stop() before it destroys it.
class Backends {
 public:
  // kInvalidArgument for a base URL that is none.
  static Result<std::unique_ptr<Backends>> create(const config::LlmSettings& llm,
                                                  const config::InferSettings& infer, Catalog catalog,
                                                  LocalPaths paths, BackendParts parts);

  const std::string& default_model() const { return default_model_; }
  // What is asked from now on when nobody names one; "" is the local default.
  void set_default_model(std::string model);
  // What is known of the model: context window, how much prompt it gets.
  ModelInfo info(std::string_view model) const { return catalog_.find(model); }
  // Which provider answers for the model, "" being the default one; ids that nobody knows go to the configured backend.
  Provider& provider_for(std::string_view model);
  Provider& default_provider() { return provider_for(default_model_); }

  // Ends chela-infer.
  Task<> stop() { return local_->stop(); }

 private:
  explicit Backends(Catalog catalog) : catalog_(std::move(catalog)) {}

  Catalog catalog_;
  std::string default_model_;
  std::unique_ptr<local::LocalProvider> local_;
  std::unique_ptr<openai::OpenAiProvider> remote_;  // empty when the backend is the local one
  std::unique_ptr<RetryProvider> local_retry_;
  std::unique_ptr<RetryProvider> remote_retry_;
};

}  // namespace chela::llm
