#pragma once

#include <memory>
#include <string>

#include "llm/embeddings.h"
#include "llm/local/infer_process.h"
#include "llm/models.h"
#include "llm/openai/openai_provider.h"
#include "llm/provider.h"

namespace chela::llm::local {

// The models of this machine: starts chela-infer when it is needed and speaks to it over its Unix socket like to any other
// OpenAI-compatible server.
class LocalProvider final : public Provider, public EmbeddingProvider {
 public:
  static Result<std::unique_ptr<LocalProvider>> create(InferOptions options, Catalog catalog,
                                                       runtime::EventLoop& loop, os::Poller& poller,
                                                       net::HttpClient& http);

  // kUnavailable, with the command that fetches them, when files of the model are missing.
  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  // Those that can be talked to. Empty, without starting anything, when there is no model file at all.
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

  // Embeddings of a local model, under the same conditions.
  Task<Result<Embeddings>> embed(EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                 std::stop_token stop) override;

  InferProcess& process() { return process_; }
  Task<> stop() { return process_.stop(); }

 private:
  LocalProvider(InferOptions options, Catalog catalog, runtime::EventLoop& loop, os::Poller& poller,
                net::HttpClient& http);

  Result<> check_files(const std::string& model) const;

  Catalog catalog_;
  runtime::EventLoop& loop_;
  net::HttpClient& http_;
  InferProcess process_;
  std::unique_ptr<openai::OpenAiProvider> remote_;
};

}  // namespace chela::llm::local
