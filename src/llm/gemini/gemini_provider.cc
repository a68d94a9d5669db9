#include "llm/gemini/gemini_provider.h"

#include "llm/gemini/request_body.h"
#include "llm/gemini/stream_reader.h"

namespace chela::llm::gemini {
namespace {

constexpr std::string_view kPrefix = "models/";

std::string_view bare(std::string_view model) {
  return model.starts_with(kPrefix) ? model.substr(kPrefix.size()) : model;
}

}  // namespace

Result<std::unique_ptr<GeminiProvider>> GeminiProvider::create(wire::ServerOptions options,
                                                               net::HttpClient& http,
                                                               runtime::EventLoop& loop) {
  const Result<net::Url> root = wire::root_url(options.base_url, "/v1beta", "/models");
  if (!root) return fail(root.error());
  Result<std::unique_ptr<wire::Server>> server = wire::Server::create(std::move(options), *root, http, loop);
  if (!server) return fail(std::move(server.error()));
  return std::unique_ptr<GeminiProvider>(new GeminiProvider(root->text(), std::move(*server)));
}

net::Headers GeminiProvider::access() const {
  net::Headers headers;
  const std::string& key = server_->options().api_key;
  if (!key.empty()) headers.set("x-goog-api-key", key);
  return headers;
}

Task<Result<Answer>> GeminiProvider::complete(Request request, DeltaSink sink,
                                              std::optional<SteadyTime> deadline, std::stop_token stop) {
  std::string url = fmt::format("{}/models/{}:streamGenerateContent?alt=sse", root_,
                                wire::url_segment(bare(request.model)));
  net::ClientRequest http = server_->request("POST", std::move(url), access());
  http.body = request_body(std::move(request));
  auto reader = std::make_unique<StreamReader>(server_->errors(), std::move(sink));
  co_return co_await server_->complete(std::move(http), std::move(reader), deadline, std::move(stop));
}

Task<Result<std::vector<std::string>>> GeminiProvider::models(std::stop_token stop) {
  const Result<json::Value> list = co_await server_->fetch(
      server_->request("GET", root_ + "/models?pageSize=1000", access()), std::move(stop));
  if (!list) co_return fail(list.error());
  Result<std::vector<std::string>> names = wire::ids_of(server_->errors(), *list, "models", "name");
  if (!names) co_return names;
  for (std::string& name : *names) name = bare(name);
  co_return names;
}

}  // namespace chela::llm::gemini
