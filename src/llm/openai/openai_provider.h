#pragma once

#include <memory>

#include "llm/openai/endpoint.h"
#include "llm/openai/request_body.h"
#include "llm/provider.h"
#include "llm/wire/server.h"

namespace chela::llm::openai {

using Options = wire::ServerOptions;

// Any server that speaks OpenAI's Chat Completions: OpenAI, OpenRouter, vLLM, llama.cpp, chela-infer, ...
class OpenAiProvider final : public Provider {
 public:
  static Result<std::unique_ptr<OpenAiProvider>> create(Options options, net::HttpClient& http,
                                                        runtime::EventLoop& loop, ChatManners manners = {});

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  OpenAiProvider(Endpoint endpoint, std::unique_ptr<wire::Server> server, ChatManners manners)
      : endpoint_(std::move(endpoint)), server_(std::move(server)), manners_(std::move(manners)) {}

  Endpoint endpoint_;
  std::unique_ptr<wire::Server> server_;
  ChatManners manners_;
};

}  // namespace chela::llm::openai
