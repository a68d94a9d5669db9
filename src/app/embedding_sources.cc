#include "app/embedding_sources.h"

namespace chela::app {

Task<Result<llm::Embeddings>> WorkerEmbeddings::embed(llm::EmbeddingRequest request,
                                                      std::optional<SteadyTime>, std::stop_token stop) {
  Result<std::vector<memory::Embedding>> vectors =
      co_await worker_.embed(request.caller.scope, std::move(request.texts));
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "the call was cancelled");
  if (!vectors) co_return fail(std::move(vectors.error()));
  const std::size_t made = vectors->empty() ? 0 : vectors->front().size();
  if (request.dimensions && *request.dimensions != static_cast<std::int64_t>(made))
    co_return fail(Code::kInvalidArgument,
                   "dimensions: the worker that provides embedding::generate makes {}", made);
  co_return llm::Embeddings{.vectors = std::move(*vectors), .model = std::move(request.model)};
}

}  // namespace chela::app
