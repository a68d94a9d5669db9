#include "llm/ollama/ollama_provider.h"

#include "llm/ollama/request_body.h"
#include "llm/ollama/stream_reader.h"

namespace chela::llm::ollama {
namespace {

constexpr std::string_view kCompatible = "/v1";
constexpr std::string_view kOwn = "/api";

}  // namespace

Result<std::unique_ptr<OllamaProvider>> OllamaProvider::create(wire::ServerOptions options,
                                                               net::HttpClient& http,
                                                               runtime::EventLoop& loop) {
  Result<net::Url> root = wire::root_url(options.base_url, "", "/chat");
  if (!root) return fail(root.error());
  std::string& path = root->path;
  if (path.ends_with(kCompatible)) path.resize(path.size() - kCompatible.size());
  if (!path.ends_with(kOwn)) path += kOwn;
  Result<std::unique_ptr<wire::Server>> server = wire::Server::create(std::move(options), *root, http, loop);
  if (!server) return fail(std::move(server.error()));
  return std::unique_ptr<OllamaProvider>(new OllamaProvider(root->text(), std::move(*server)));
}

Task<Result<Answer>> OllamaProvider::complete(Request request, DeltaSink sink,
                                              std::optional<SteadyTime> deadline, std::stop_token stop) {
  net::ClientRequest http = server_->request("POST", root_ + "/chat", server_->bearer());
  http.body = request_body(std::move(request));
  auto reader = std::make_unique<StreamReader>(server_->errors(), std::move(sink));
  co_return co_await server_->complete(std::move(http), std::move(reader), deadline, std::move(stop));
}

Task<Result<std::vector<std::string>>> OllamaProvider::models(std::stop_token stop) {
  const Result<json::Value> list =
      co_await server_->fetch(server_->request("GET", root_ + "/tags", server_->bearer()), std::move(stop));
  if (!list) co_return fail(list.error());
  co_return wire::ids_of(server_->errors(), *list, "models", "name");
}

}  // namespace chela::llm::ollama
