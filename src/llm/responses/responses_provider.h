#pragma once

#include <memory>

#include "llm/provider.h"
#include "llm/wire/server.h"

namespace chela::llm::responses {

// OpenAI's Responses.
class ResponsesProvider final : public Provider {
 public:
  static Result<std::unique_ptr<ResponsesProvider>> create(wire::ServerOptions options, net::HttpClient& http,
                                                           runtime::EventLoop& loop);

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  ResponsesProvider(std::string root, std::unique_ptr<wire::Server> server)
      : root_(std::move(root)), server_(std::move(server)) {}

  std::string root_;  // "https://api.openai.com/v1"
  std::unique_ptr<wire::Server> server_;
};

}  // namespace chela::llm::responses
