#include "app/probe.h"

#include "app/catalog.h"
#include "base/strings.h"
#include "llm/local/infer_process.h"
#include "runtime/id_source.h"
#include "runtime/stop_scope.h"

namespace chela::app {
namespace {

constexpr std::int64_t kHelloTokens = 64;

Result<std::unique_ptr<llm::Backends>> backends_for(ProbeParts parts, const config::Settings& settings,
                                                    runtime::IdSource& ids) {
  Result<llm::Catalog> catalog = find_catalog(parts.environment);
  if (!catalog) return fail(catalog.error());
  config::LlmSettings llm = settings.llm;
  llm.max_retries = 0;
  llm::LocalPaths paths{.infer_program = llm::local::beside_this_program("chela-infer"),
                        .models_dir = parts.paths.models,
                        .socket = parts.paths.infer_socket};
  return llm::Backends::create(llm, settings.infer, std::move(*catalog), std::move(paths),
                               {.loop = parts.loop, .poller = parts.poller, .http = parts.http, .ids = ids});
}

}  // namespace

std::string provider_address(const config::LlmSettings& llm) {
  return llm.unix_socket.empty() ? llm.base_url : llm.unix_socket;
}

Task<Result<std::vector<std::string>>> list_models(ProbeParts parts, config::Settings settings,
                                                   std::stop_token stop) {
  runtime::RandomIdSource ids(parts.loop.clock());
  const Result<std::unique_ptr<llm::Backends>> backends = backends_for(parts, settings, ids);
  if (!backends) co_return fail(backends.error());
  const runtime::StopScope limit(parts.loop, stop, parts.loop.clock().steady() + parts.list_wait);
  Result<std::vector<std::string>> models = co_await (*backends)->default_provider().models(limit.token());
  co_await (*backends)->stop();
  if (!models && limit.timed_out()) co_return fail(limit.reason(provider_address(settings.llm)));
  co_return models;
}

Task<Result<std::string>> say_hello(ProbeParts parts, config::Settings settings, std::stop_token stop) {
  runtime::RandomIdSource ids(parts.loop.clock());
  const Result<std::unique_ptr<llm::Backends>> backends = backends_for(parts, settings, ids);
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
