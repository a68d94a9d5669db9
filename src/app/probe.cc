#include "app/probe.h"

#include "app/catalog.h"
#include "app/provider_keys.h"
#include "base/strings.h"
#include "llm/local/infer_process.h"
#include "runtime/id_source.h"
#include "runtime/pool.h"
#include "runtime/stop_scope.h"
#include "security/authenticator.h"
#include "security/file_vault.h"

namespace chela::app {
namespace {

constexpr std::int64_t kHelloTokens = 64;

// The providers as an engine would have them, and what they stand on.
struct Bench {
  Bench(const ProbeParts& parts, const config::Settings& settings)
      : ids(parts.loop.clock()),
        pool(parts.loop, 1),
        vault(parts.paths.home, settings.secrets.master_key, pool, parts.loop.clock()),
        keys(nullptr, parts.environment, vault, security::owner_principal(settings.gateway.user_id).scope()) {
  }

  runtime::RandomIdSource ids;
  runtime::Pool pool;
  security::FileVault vault;
  EngineKeys keys;
};

Task<Result<std::unique_ptr<llm::Backends>>> backends_for(ProbeParts parts, config::Settings settings,
                                                          Bench& bench) {
  Result<llm::ModelData> data = find_model_data(parts.environment, parts.paths.home);
  if (!data) co_return fail(data.error());
  co_await bench.keys.read_names();
  config::LlmSettings llm = settings.llm;
  llm.max_retries = 0;
  llm::LocalPaths paths{.infer_program = llm::local::beside_this_program("chela-infer"),
                        .models_dir = parts.paths.models,
                        .socket = parts.paths.infer_socket};
  co_return llm::Backends::create(
      llm, settings.infer, std::move(*data), std::move(paths),
      {.loop = parts.loop, .poller = parts.poller, .http = parts.http, .ids = bench.ids, .keys = bench.keys});
}

}  // namespace

std::string provider_address(const config::LlmSettings& llm) {
  if (!llm.unix_socket.empty()) return llm.unix_socket;
  return llm.base_url.empty() ? llm.provider : llm.base_url;
}

Task<Result<std::vector<std::string>>> list_models(ProbeParts parts, config::Settings settings,
                                                   std::stop_token stop) {
  Bench bench(parts, settings);
  const Result<std::unique_ptr<llm::Backends>> backends = co_await backends_for(parts, settings, bench);
  if (!backends) co_return fail(backends.error());
  const runtime::StopScope limit(parts.loop, stop, parts.loop.clock().steady() + parts.list_wait);
  Result<std::vector<std::string>> models = co_await (*backends)->default_provider().models(limit.token());
  co_await (*backends)->stop();
  if (!models && limit.timed_out()) co_return fail(limit.reason(provider_address(settings.llm)));
  co_return models;
}

Task<Result<std::string>> say_hello(ProbeParts parts, config::Settings settings, std::stop_token stop) {
  Bench bench(parts, settings);
  const Result<std::unique_ptr<llm::Backends>> backends = co_await backends_for(parts, settings, bench);
  if (!backends) co_return fail(backends.error());
  const runtime::StopScope limit(parts.loop, stop, parts.loop.clock().steady() + parts.hello_wait);
  llm::Request request{
      .model = (*backends)->default_model(),
      .messages = {{.role = llm::Role::kUser, .content = "Say hello in one short sentence."}},
      .sampling = {.max_tokens = kHelloTokens}};
  const Result<llm::Answer> answer = co_await (*backends)->default_provider().complete(
      std::move(request), [](const llm::Delta&) {}, std::nullopt, limit.token());
  co_await (*backends)->stop();
  if (!answer && limit.timed_out()) co_return fail(limit.reason("the test call"));
  if (!answer) co_return fail(answer.error());
  co_return std::string(strings::trim(answer->text));
}

}  // namespace chela::app
