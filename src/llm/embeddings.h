#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "llm/provider.h"
#include "runtime/task.h"

namespace chela::llm {

struct EmbeddingRequest {
  std::string model;
  std::vector<std::string> texts;
  std::optional<std::int64_t> dimensions = {};  // nothing: as many as the model makes
  std::string user = {};                        // whom the client asks for, told to providers that want it
  Caller caller = {};
};

struct Embeddings {
  std::vector<std::vector<double>> vectors;  // one a text, in their order, all of one length
  std::int64_t input_tokens = 0;             // 0: the provider does not tell
  std::string model;                         // the one that answered
};

// Texts as vectors behind a protocol. Errors are those of Provider, and kUnsupported for one that makes none. Lives on the loop.
class EmbeddingProvider {
 public:
  virtual ~EmbeddingProvider() = default;
  virtual Task<Result<Embeddings>> embed(EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                         std::stop_token stop) = 0;
};

}  // namespace chela::llm
