#pragma once

#include <memory>

#include "llm/provider.h"
#include "llm/wire/server.h"

namespace chela::llm::ollama {

// Ollama by its own protocol. An address that ends with /v1, as for its OpenAI-compatible one, is understood.
class OllamaProvider final : public Provider {
 public:
  static Result<std::unique_ptr<OllamaProvider>> create(wire::ServerOptions options, net::HttpClient& http,
                                                        runtime::EventLoop& loop);

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  OllamaProvider(std::string root, std::unique_ptr<wire::Server> server)
      : root_(std::move(root)), server_(std::move(server)) {}

  std::string root_;  // "http://localhost:11434/api"
  std::unique_ptr<wire::Server> server_;
};

}  // namespace chela::llm::ollama
