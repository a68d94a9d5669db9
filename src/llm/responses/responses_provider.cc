#include "llm/responses/responses_provider.h"

#include "llm/responses/request_body.h"
#include "llm/responses/stream_reader.h"

namespace chela::llm::responses {

Result<std::unique_ptr<ResponsesProvider>> ResponsesProvider::create(wire::ServerOptions options,
                                                                     net::HttpClient& http,
                                                                     runtime::EventLoop& loop) {
  const Result<net::Url> root = wire::root_url(options.base_url, "/v1", "/responses");
  if (!root) return fail(root.error());
  Result<std::unique_ptr<wire::Server>> server = wire::Server::create(std::move(options), *root, http, loop);
  if (!server) return fail(std::move(server.error()));
  return std::unique_ptr<ResponsesProvider>(new ResponsesProvider(root->text(), std::move(*server)));
}

Task<Result<Answer>> ResponsesProvider::complete(Request request, DeltaSink sink,
                                                 std::optional<SteadyTime> deadline, std::stop_token stop) {
  net::ClientRequest http = server_->request("POST", root_ + "/responses", server_->bearer());
  http.headers.set("Accept", "text/event-stream, application/json");
  http.body = request_body(std::move(request));
  auto reader = std::make_unique<StreamReader>(server_->errors(), std::move(sink));
  co_return co_await server_->complete(std::move(http), std::move(reader), deadline, std::move(stop));
}

Task<Result<std::vector<std::string>>> ResponsesProvider::models(std::stop_token stop) {
  const Result<json::Value> list =
      co_await server_->fetch(server_->request("GET", root_ + "/models", server_->bearer()), std::move(stop));
  if (!list) co_return fail(list.error());
  co_return wire::ids_of(server_->errors(), *list, "data", "id");
}

}  // namespace chela::llm::responses
