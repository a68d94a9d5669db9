#pragma once

#include <memory>

#include "llm/nearai/session.h"
#include "llm/openai/openai_provider.h"
#include "llm/provider.h"
#include "llm/wire/server.h"

namespace chela::llm::nearai {

// NEAR AI: OpenAI's Chat Completions without messages of tools, which it refuses. Those are sent as text. With an API key at the configured
// address; without one, with a session's token, at the address for sessions.
class NearAiProvider final : public Provider {
 public:
  static Result<std::unique_ptr<NearAiProvider>> create(wire::ServerOptions options, Variables variables,
                                                        net::HttpClient& http, runtime::EventLoop& loop);

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  NearAiProvider(wire::ServerOptions options, Variables variables, net::HttpClient& http,
                 runtime::EventLoop& loop)
      : options_(std::move(options)), variables_(std::move(variables)), http_(http), loop_(loop) {}

  // The adapter with the session's present token; the same one while that stays.
  Result<std::shared_ptr<openai::OpenAiProvider>> current();

  wire::ServerOptions options_;
  Variables variables_;
  net::HttpClient& http_;
  runtime::EventLoop& loop_;
  std::shared_ptr<openai::OpenAiProvider> inner_;
  std::string token_;  // that it was made with
};

}  // namespace chela::llm::nearai
