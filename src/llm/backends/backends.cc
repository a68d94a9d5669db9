#include "llm/backends/backends.h"

namespace chela::llm {
namespace {

constexpr std::string_view kLocalPrefix = "local/";
constexpr std::string_view kLocalDefault = "local/small";

openai::Options remote_options(const config::LlmSettings& llm) {
  openai::Options options{.base_url = llm.base_url, .unix_socket = llm.unix_socket, .api_key = llm.api_key};
  options.address_key = llm.base_url_key;
  options.extra_headers = llm.extra_headers;
  if (llm.stall_timeout.count() > 0) options.stall_timeout = llm.stall_timeout;
  return options;
}

}  // namespace

Result<std::unique_ptr<Backends>> Backends::create(const config::LlmSettings& llm,
                                                   const config::InferSettings& infer, Catalog catalog,
                                                   LocalPaths paths, BackendParts parts) {
  std::unique_ptr<Backends> made(new Backends(std::move(catalog)));
  made->set_default_model(llm.model);
  local::InferOptions options{.program = std::move(paths.infer_program),
                              .models_dir = std::move(paths.models_dir),
                              .socket = std::move(paths.socket),
                              .threads = infer.threads,
                              .idle = infer.idle};
  Result<std::unique_ptr<local::LocalProvider>> local =
      local::LocalProvider::create(std::move(options), made->catalog_, parts.loop, parts.poller, parts.http);
  if (!local) return fail(std::move(local.error()));
  made->local_ = std::move(*local);
  made->local_retry_ = std::make_unique<RetryProvider>(*made->local_, parts.loop, parts.ids, llm.max_retries);
  if (llm.backend == config::LlmBackend::kLocal) return made;
  Result<std::unique_ptr<openai::OpenAiProvider>> remote =
      openai::OpenAiProvider::create(remote_options(llm), parts.http, parts.loop);
  if (!remote) return fail(std::move(remote.error()));
  made->remote_ = std::move(*remote);
  made->remote_retry_ =
      std::make_unique<RetryProvider>(*made->remote_, parts.loop, parts.ids, llm.max_retries);
  return made;
}

void Backends::set_default_model(std::string model) {
  default_model_ = model.empty() ? std::string(kLocalDefault) : std::move(model);
}

Provider& Backends::provider_for(std::string_view model) {
  if (model.empty()) model = default_model_;
  if (remote_retry_ && !model.starts_with(kLocalPrefix)) return *remote_retry_;
  return *local_retry_;
}

}  // namespace chela::llm
