#pragma once

#include "base/json.h"
#include "base/result.h"
#include "llm/embeddings.h"

namespace chela::api {

enum class EmbeddingEncoding { kFloat, kBase64 };  // base64: of the numbers as 32-bit floats, little-endian

struct EmbeddingsRequest {
  llm::EmbeddingRequest request;
  EmbeddingEncoding encoding = EmbeddingEncoding::kFloat;
};

// The body of an OpenAI embeddings request. Errors name the field that is wrong.
Result<EmbeddingsRequest> parse_embeddings_request(const json::Value& body);

// OpenAI's list of embeddings.
json::Value embeddings_view(const llm::Embeddings& made, EmbeddingEncoding encoding);

}  // namespace chela::api
