#pragma once

#include <memory>

#include "llm/embeddings/wire.h"
#include "llm/wire/server.h"

namespace chela::llm::embeddings {

// A model's embeddings from a server of its provider, in as many requests as the protocol needs.
class HttpEmbeddings final : public EmbeddingProvider {
 public:
  // `model` is the provider's own name of it. kUnsupported when the protocol has none.
  static Result<std::unique_ptr<HttpEmbeddings>> create(Protocol protocol, std::string provider,
                                                        std::string model, llm::wire::ServerOptions options,
                                                        net::HttpClient& http, runtime::EventLoop& loop);

  Task<Result<Embeddings>> embed(EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                 std::stop_token stop) override;

 private:
  HttpEmbeddings(Wire wire, std::string root, std::string model, std::unique_ptr<llm::wire::Server> server)
      : wire_(wire), root_(std::move(root)), model_(std::move(model)), server_(std::move(server)) {}

  net::Headers access() const;

  const Wire wire_;
  const std::string root_;
  const std::string model_;
  const std::unique_ptr<llm::wire::Server> server_;
};

}  // namespace chela::llm::embeddings
