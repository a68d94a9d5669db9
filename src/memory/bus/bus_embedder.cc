#include "memory/bus/bus_embedder.h"

#include <algorithm>
#include <cmath>

#include "obs/log.h"

namespace chela::memory {
namespace {

constexpr std::string_view kFunction = "embedding::generate";

bool worker_has_gone(const Error& error) {
  return bus::never_begun(error) || error.detail("bus_code") == "invocation_stopped";
}

Result<Embedding> embedding_from_json(const json::Value& value) {
  const json::Array* numbers = value.as_array();
  if (numbers == nullptr || numbers->empty() || numbers->size() > kMaxDimensions)
    return fail(Code::kUpstream, "an embedding must be a list of 1 to {} numbers", kMaxDimensions);
  Embedding out;
  out.reserve(numbers->size());
  for (const json::Value& each : *numbers) {
    const std::optional<double> number = each.as_double();
    if (!number || !std::isfinite(*number))
      return fail(Code::kUpstream, "an embedding must consist of numbers");
    out.push_back(*number);
  }
  if (std::ranges::all_of(out, [](double each) { return each == 0; }))
    return fail(Code::kUpstream, "an embedding of zeros points nowhere");
  return out;
}

}  // namespace

Result<std::vector<Embedding>> embeddings_from_json(const json::Value& value, std::size_t count) {
  const json::Value* listed = value.find("embeddings");
  const json::Array* rows = listed == nullptr ? nullptr : listed->as_array();
  if (rows == nullptr || rows->size() != count)
    return fail(Code::kUpstream, "{} must answer with {} 'embeddings'", kFunction, count);
  std::vector<Embedding> out;
  for (const json::Value& row : *rows) {
    Result<Embedding> embedding = embedding_from_json(row);
    if (!embedding) return fail(embedding.error());
    if (!out.empty() && out.front().size() != embedding->size())
      return fail(Code::kUpstream, "embeddings must have one length");
    out.push_back(std::move(*embedding));
  }
  return out;
}

op::CallContext BusEmbedder::context(const Scope& scope) const {
  return {.principal = {.realm = scope.realm, .user = scope.user, .permissions = {"memory:read"}},
          .scope = scope,
          .deadline = bus_.clock().steady() + kEmbedTime};
}

bool BusEmbedder::ready(const Scope& scope) const { return bus_.replaced(kFunction, context(scope)); }

Task<Result<std::vector<Embedding>>> BusEmbedder::embed(Scope scope, std::vector<std::string> texts) {
  json::Value batch = json::Value::array();
  for (const std::string& text : texts) batch.push_back(text);
  const json::Value data = json::Value::object({{"batch", std::move(batch)}});
  const op::CallContext asking = context(scope);
  Result<json::Value> said = fail(Code::kUnavailable, "no worker provides {}", kFunction);
  for (int attempt = 0; attempt < kEmbedAttempts && bus_.replaced(kFunction, asking); ++attempt) {
    said = co_await bus_.call_replacement(asking, std::string(kFunction), data);
    if (said || !worker_has_gone(said.error())) break;
  }
  Result<std::vector<Embedding>> vectors =
      said ? embeddings_from_json(*said, texts.size()) : fail(said.error());
  if (!vectors)
    log::warn("memory", "a worker's embedding::generate failed; the search goes by words alone",
              {{"error", vectors.error().message}});
  co_return vectors;
}

}  // namespace chela::memory
