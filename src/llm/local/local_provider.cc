#include "llm/local/local_provider.h"

#include <filesystem>

#include "llm/embeddings/http_embeddings.h"

namespace chela::llm::local {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAddress = "http://localhost/v1";

bool has_model_files(const std::string& dir) {
  std::error_code ec;
  for (fs::directory_iterator at(dir, ec), end; !ec && at != end; at.increment(ec)) {
    if (at->path().extension() == ".gguf") return true;
  }
  return false;
}

}  // namespace

LocalProvider::LocalProvider(InferOptions options, Catalog catalog, runtime::EventLoop& loop,
                             os::Poller& poller, net::HttpClient& http)
    : catalog_(std::move(catalog)),
      loop_(loop),
      http_(http),
      process_(std::move(options), loop, poller, http) {}

Result<std::unique_ptr<LocalProvider>> LocalProvider::create(InferOptions options, Catalog catalog,
                                                             runtime::EventLoop& loop, os::Poller& poller,
                                                             net::HttpClient& http) {
  openai::Options remote{.base_url = std::string(kAddress), .unix_socket = options.socket};
  Result<std::unique_ptr<openai::OpenAiProvider>> made =
      openai::OpenAiProvider::create(std::move(remote), http, loop);
  if (!made) return fail(std::move(made.error()));
  std::unique_ptr<LocalProvider> provider(
      new LocalProvider(std::move(options), std::move(catalog), loop, poller, http));
  provider->remote_ = std::move(*made);
  return provider;
}

Result<> LocalProvider::check_files(const std::string& model) const {
  for (const std::string& file : catalog_.find(model).files) {
    std::error_code ec;
    const fs::path path = fs::path(process_.options().models_dir) / file;
    if (fs::exists(path, ec)) continue;
    return fail(Error{
        .code = Code::kUnavailable,
        .message = fmt::format("the model {} is not on this machine yet ({} is missing). Next step: run "
                               "`chela models pull {}`, or configure a provider (LLM_BACKEND, LLM_BASE_URL)",
                               model, path.string(), model)}
                    .with("reason", "model_missing")
                    .with("retry", "no"));
  }
  return {};
}

Task<Result<Answer>> LocalProvider::complete(Request request, DeltaSink sink,
                                             std::optional<SteadyTime> deadline, std::stop_token stop) {
  if (Result<> there = check_files(request.model); !there) co_return fail(std::move(there.error()));
  if (Result<> ready = co_await process_.ensure(stop); !ready) co_return fail(std::move(ready.error()));
  Result<Answer> answer = co_await remote_->complete(std::move(request), std::move(sink), deadline, stop);
  if (!answer && answer.error().code == Code::kUnavailable) {
    answer.error().message = "the process of the local model ended; the next call starts it again";
  }
  co_return answer;
}

Task<Result<std::vector<std::string>>> LocalProvider::models(std::stop_token stop) {
  if (!has_model_files(process_.options().models_dir)) co_return std::vector<std::string>{};
  if (Result<> ready = co_await process_.ensure(stop); !ready) co_return fail(std::move(ready.error()));
  Result<std::vector<std::string>> served = co_await remote_->models(stop);
  if (served)
    std::erase_if(*served, [this](const std::string& id) { return catalog_.find(id).dimensions > 0; });
  co_return served;
}

Task<Result<Embeddings>> LocalProvider::embed(EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                              std::stop_token stop) {
  if (Result<> there = check_files(request.model); !there) co_return fail(std::move(there.error()));
  if (Result<> ready = co_await process_.ensure(stop); !ready) co_return fail(std::move(ready.error()));
  const Result<std::unique_ptr<embeddings::HttpEmbeddings>> remote = embeddings::HttpEmbeddings::create(
      Protocol::kOpenAiChat, "this machine", request.model,
      {.base_url = std::string(kAddress), .unix_socket = process_.options().socket}, http_, loop_);
  if (!remote) co_return fail(remote.error());
  co_return co_await (*remote)->embed(std::move(request), deadline, std::move(stop));
}

}  // namespace chela::llm::local
