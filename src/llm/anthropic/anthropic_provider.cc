#include "llm/anthropic/anthropic_provider.h"

#include "llm/anthropic/request_body.h"
#include "llm/anthropic/stream_reader.h"

namespace chela::llm::anthropic {

Result<std::unique_ptr<AnthropicProvider>> AnthropicProvider::create(wire::ServerOptions options,
                                                                     net::HttpClient& http,
                                                                     runtime::EventLoop& loop) {
  const Result<net::Url> root = wire::root_url(options.base_url, "/v1", "/messages");
  if (!root) return fail(root.error());
  Result<std::unique_ptr<wire::Server>> server = wire::Server::create(std::move(options), *root, http, loop);
  if (!server) return fail(std::move(server.error()));
  return std::unique_ptr<AnthropicProvider>(new AnthropicProvider(root->text(), std::move(*server)));
}

net::Headers AnthropicProvider::access() const {
  net::Headers headers;
  headers.set("anthropic-version", "2023-06-01");
  const std::string& key = server_->options().api_key;
  if (!key.empty()) headers.set("x-api-key", key);
  return headers;
}

Task<Result<Answer>> AnthropicProvider::complete(Request request, DeltaSink sink,
                                                 std::optional<SteadyTime> deadline, std::stop_token stop) {
  net::ClientRequest http = server_->request("POST", root_ + "/messages", access());
  http.headers.set("Accept", "text/event-stream, application/json");
  http.body = request_body(std::move(request));
  auto reader = std::make_unique<StreamReader>(server_->errors(), std::move(sink));
  co_return co_await server_->complete(std::move(http), std::move(reader), deadline, std::move(stop));
}

Task<Result<std::vector<std::string>>> AnthropicProvider::models(std::stop_token stop) {
  const Result<json::Value> list = co_await server_->fetch(
      server_->request("GET", root_ + "/models?limit=1000", access()), std::move(stop));
  if (!list) co_return fail(list.error());
  co_return wire::ids_of(server_->errors(), *list, "data", "id");
}

}  // namespace chela::llm::anthropic
