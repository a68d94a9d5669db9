#pragma once

#include <memory>

#include "llm/provider.h"
#include "llm/wire/server.h"

namespace chela::llm::gemini {

// Google's Gemini API.
class GeminiProvider final : public Provider {
 public:
  static Result<std::unique_ptr<GeminiProvider>> create(wire::ServerOptions options, net::HttpClient& http,
                                                        runtime::EventLoop& loop);

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  GeminiProvider(std::string root, std::unique_ptr<wire::Server> server)
      : root_(std::move(root)), server_(std::move(server)) {}

  net::Headers access() const;

  std::string root_;  // "https://generativelanguage.googleapis.com/v1beta"
  std::unique_ptr<wire::Server> server_;
};

}  // namespace chela::llm::gemini
