#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "llm/embeddings.h"
#include "llm/providers.h"
#include "llm/wire/provider_error.h"

namespace chela::llm::embeddings {

// What protocols have of their own about embeddings; pure.
struct Wire {
  std::string_view version;     // of a base URL that names none
  std::string_view operation;   // that a base URL may end with
  std::string_view key_header;  // that carries the bare key; "": Authorization: Bearer
  size_t batch;                 // texts of one request
  // The rest of the address behind the root.
  std::string (*path)(std::string_view model);
  json::Value (*body)(const EmbeddingRequest& request, std::string_view model,
                      std::span<const std::string> texts);
  std::string_view list;    // of the answer
  std::string_view vector;  // in an entry of the list; "": the entry itself
  std::int64_t (*tokens)(const json::Value& answer);
};

// Nothing for a protocol that has no embeddings.
std::optional<Wire> wire_of(Protocol protocol);

// The vectors of an answer to `count` texts; kUpstream when it does not have them.
Result<std::vector<std::vector<double>>> read_vectors(const Wire& wire, const llm::wire::ErrorContext& errors,
                                                      const json::Value& answer, size_t count);

}  // namespace chela::llm::embeddings
