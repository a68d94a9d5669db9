// The seam between routing and the embedding model: tests put a fake here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace chela::infer {

using Embedding = std::vector<float>;  // of length 1, so that a dot product is the cosine

// Lives on the inference thread.
class SentenceEmbedder {
 public:
  virtual ~SentenceEmbedder() = default;
  // One vector a text, in order. A text longer than kEmbeddingTokens is cut.
  virtual Result<std::vector<Embedding>> embed(std::span<const std::string> texts) = 0;
  virtual std::size_t count_tokens(std::string_view text) const = 0;
  // Names the model's file: part of the key of what is cached.
  virtual std::string_view identity() const = 0;
};

float similarity(const Embedding& a, const Embedding& b);

}  // namespace chela::infer
