#include "llm/openai/openai_provider.h"

#include "llm/openai/answer_builder.h"
#include "llm/openai/stream_reader.h"
#include "llm/wire/provider_data.h"

namespace chela::llm::openai {

Result<std::unique_ptr<OpenAiProvider>> OpenAiProvider::create(Options options, net::HttpClient& http,
                                                               runtime::EventLoop& loop,
                                                               ChatManners manners) {
  Result<Endpoint> endpoint = Endpoint::from_base_url(options.base_url);
  if (!endpoint) return fail(std::move(endpoint.error()));
  Result<std::unique_ptr<wire::Server>> server =
      wire::Server::create(std::move(options), *net::Url::parse(endpoint->chat_url), http, loop);
  if (!server) return fail(std::move(server.error()));
  return std::unique_ptr<OpenAiProvider>(
      new OpenAiProvider(std::move(*endpoint), std::move(*server), std::move(manners)));
}

Task<Result<Answer>> OpenAiProvider::complete(Request request, DeltaSink sink,
                                              std::optional<SteadyTime> deadline, std::stop_token stop) {
  net::ClientRequest http = server_->request("POST", endpoint_.chat_url, server_->bearer());
  http.headers.set("Accept", "text/event-stream, application/json");
  http.body = request_body(std::move(request), endpoint_, manners_);
  auto reader = std::make_unique<StreamReader>(server_->errors(), std::move(sink));
  Result<Answer> answer =
      co_await server_->complete(std::move(http), std::move(reader), deadline, std::move(stop));
  if (answer && manners_.wants_reasoning && !answer->reasoning.empty() && !answer->tool_calls.empty())
    answer->provider_data = wire::pack_provider_data(kChatData, answer->reasoning);
  co_return answer;
}

Task<Result<std::vector<std::string>>> OpenAiProvider::models(std::stop_token stop) {
  const Result<json::Value> list = co_await server_->fetch(
      server_->request("GET", endpoint_.models_url, server_->bearer()), std::move(stop));
  if (!list) co_return fail(list.error());
  co_return wire::ids_of(server_->errors(), *list, "data", "id");
}

}  // namespace chela::llm::openai
