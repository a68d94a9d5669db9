#include "llm/embeddings/wire.h"

#include <algorithm>
#include <cmath>

#include "llm/embeddings/limits.h"
#include "llm/wire/server.h"

namespace chela::llm::embeddings {
namespace {

using json::Value;

constexpr std::string_view kGeminiModels = "models/";

Value list_of(std::span<const std::string> texts) {
  Value list = Value::array();
  for (const std::string& each : texts) list.push_back(each);
  return list;
}

std::string openai_path(std::string_view) { return "/embeddings"; }

Value openai_body(const EmbeddingRequest& request, std::string_view model,
                  std::span<const std::string> texts) {
  Value body = Value::object({{"model", model}, {"input", list_of(texts)}});
  if (request.dimensions) body.set("dimensions", *request.dimensions);
  if (!request.user.empty()) body.set("user", request.user);
  return body;
}

std::int64_t openai_tokens(const Value& answer) {
  const Value* usage = answer.find("usage");
  return usage != nullptr ? usage->int_or("prompt_tokens", usage->int_or("total_tokens", 0)) : 0;
}

std::string_view bare(std::string_view model) {
  return model.starts_with(kGeminiModels) ? model.substr(kGeminiModels.size()) : model;
}

std::string gemini_path(std::string_view model) {
  return fmt::format("/models/{}:batchEmbedContents", llm::wire::url_segment(bare(model)));
}

Value gemini_body(const EmbeddingRequest& request, std::string_view model,
                  std::span<const std::string> texts) {
  Value requests = Value::array();
  for (const std::string& text : texts) {
    Value each = Value::object(
        {{"model", fmt::format("{}{}", kGeminiModels, bare(model))},
         {"content", Value::object({{"parts", Value::array({Value::object({{"text", text}})})}})}});
    if (request.dimensions) each.set("outputDimensionality", *request.dimensions);
    requests.push_back(std::move(each));
  }
  return Value::object({{"requests", std::move(requests)}});
}

std::int64_t gemini_tokens(const Value& answer) {
  const Value* usage = answer.find("usageMetadata");
  return usage != nullptr ? usage->int_or("promptTokenCount", 0) : 0;
}

std::string ollama_path(std::string_view) { return "/api/embed"; }

Value ollama_body(const EmbeddingRequest& request, std::string_view model,
                  std::span<const std::string> texts) {
  Value body = Value::object({{"model", model}, {"input", list_of(texts)}, {"truncate", false}});
  if (request.dimensions) body.set("dimensions", *request.dimensions);
  return body;
}

std::int64_t ollama_tokens(const Value& answer) { return answer.int_or("prompt_eval_count", 0); }

Failure malformed(const llm::wire::ErrorContext& errors, std::string_view what) {
  return fail(Code::kUpstream, "{} sent embeddings that are none: {}", errors.server, what);
}

Result<std::vector<double>> read_vector(const llm::wire::ErrorContext& errors, const Value* value) {
  const json::Array* numbers = value != nullptr ? value->as_array() : nullptr;
  if (numbers == nullptr || numbers->empty() || numbers->size() > kMaxDimensions)
    return malformed(errors, fmt::format("a vector has 1 to {} numbers", kMaxDimensions));
  std::vector<double> out;
  out.reserve(numbers->size());
  for (const Value& each : *numbers) {
    const std::optional<double> number = each.as_double();
    if (!number || !std::isfinite(*number)) return malformed(errors, "a vector consists of numbers");
    out.push_back(*number);
  }
  return out;
}

}  // namespace

std::optional<Wire> wire_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kOpenAiChat:
    case Protocol::kOpenAiResponses:
    case Protocol::kNearAi:
      return Wire{.version = "/v1",
                  .operation = protocol == Protocol::kOpenAiResponses ? "/responses" : "/chat/completions",
                  .key_header = "",
                  .batch = kBatch,
                  .path = openai_path,
                  .body = openai_body,
                  .list = "data",
                  .vector = "embedding",
                  .tokens = openai_tokens};
    case Protocol::kGemini:
      return Wire{.version = "/v1beta",
                  .operation = "/models",
                  .key_header = "x-goog-api-key",
                  .batch = kGeminiBatch,
                  .path = gemini_path,
                  .body = gemini_body,
                  .list = "embeddings",
                  .vector = "values",
                  .tokens = gemini_tokens};
    case Protocol::kOllama:
      return Wire{.version = "",
                  .operation = "/api/chat",
                  .key_header = "",
                  .batch = kBatch,
                  .path = ollama_path,
                  .body = ollama_body,
                  .list = "embeddings",
                  .vector = "",
                  .tokens = ollama_tokens};
    case Protocol::kAnthropic:
    case Protocol::kBedrock:
      break;
  }
  return std::nullopt;
}

Result<std::vector<std::vector<double>>> read_vectors(const Wire& wire, const llm::wire::ErrorContext& errors,
                                                      const Value& answer, size_t count) {
  const Value* listed = answer.find(wire.list);
  const json::Array* entries = listed != nullptr ? listed->as_array() : nullptr;
  if (entries == nullptr || entries->size() != count)
    return malformed(errors, fmt::format("{} were asked for, {} came", count, entries ? entries->size() : 0));
  std::vector<std::vector<double>> out(count);
  for (size_t i = 0; i < count; ++i) {
    const Value& entry = (*entries)[i];
    Result<std::vector<double>> vector =
        read_vector(errors, wire.vector.empty() ? &entry : entry.find(wire.vector));
    if (!vector) return fail(std::move(vector.error()));
    // An entry may say which text it belongs to.
    const std::int64_t at = entry.is_object() ? entry.int_or("index", static_cast<std::int64_t>(i))
                                              : static_cast<std::int64_t>(i);
    if (at < 0 || static_cast<size_t>(at) >= count || !out[static_cast<size_t>(at)].empty())
      return malformed(errors, fmt::format("index {} is missing, twice or too large", at));
    out[static_cast<size_t>(at)] = std::move(*vector);
  }
  for (const std::vector<double>& each : out) {
    if (each.size() != out.front().size()) return malformed(errors, "they differ in length");
  }
  return out;
}

}  // namespace chela::llm::embeddings
