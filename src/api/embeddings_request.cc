#include "api/embeddings_request.h"

#include <bit>

#include "api/limits.h"
#include "api/openai_errors.h"
#include "base/base64.h"

namespace chela::api {
namespace {

using json::Value;

// Nothing for an absent field and for null, which OpenAI takes for one.
const Value* given(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value && !value->is_null() ? value : nullptr;
}

Result<> add_text(const Value& value, const std::string& where, std::vector<std::string>& texts) {
  const std::string* text = value.as_string();
  if (text == nullptr)
    return bad_param(
        where, "expected a text; tokens are those of one model, so that they are not taken: send the text");
  if (text->empty()) return bad_param(where, "is empty");
  if (text->size() > kMaxEmbeddingTextBytes)
    return bad_param(
        where, fmt::format("has {} bytes; at most {} are allowed", text->size(), kMaxEmbeddingTextBytes));
  texts.push_back(*text);
  return {};
}

Result<> read_input(const Value& body, std::vector<std::string>& texts) {
  const Value* input = given(body, "input");
  if (input == nullptr) return bad_param("input", "is missing; send a text or an array of texts");
  const json::Array* list = input->as_array();
  if (list == nullptr) return add_text(*input, "input", texts);
  if (list->empty()) return bad_param("input", "is empty");
  if (list->size() > kMaxEmbeddingTexts)
    return bad_param("input",
                     fmt::format("has {} texts; at most {} are allowed", list->size(), kMaxEmbeddingTexts));
  for (size_t i = 0; i < list->size(); ++i) {
    if (Result<> ok = add_text((*list)[i], fmt::format("input[{}]", i), texts); !ok) return ok;
  }
  return {};
}

Result<EmbeddingEncoding> read_encoding(const Value& body) {
  const Value* format = given(body, "encoding_format");
  if (format == nullptr || *format == Value("float")) return EmbeddingEncoding::kFloat;
  if (*format == Value("base64")) return EmbeddingEncoding::kBase64;
  return bad_param("encoding_format", "expected float or base64");
}

std::string as_base64(const std::vector<double>& vector) {
  std::string bytes;
  bytes.reserve(vector.size() * sizeof(float));
  for (const double each : vector) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(each));
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xffU);
  }
  return base64::encode(bytes);
}

Value as_numbers(const std::vector<double>& vector) {
  json::Array numbers;
  numbers.reserve(vector.size());
  for (const double each : vector) numbers.emplace_back(each);
  return numbers;
}

}  // namespace

Result<EmbeddingsRequest> parse_embeddings_request(const Value& body) {
  EmbeddingsRequest out;
  const Value* model = given(body, "model");
  if (model == nullptr || model->as_string() == nullptr || model->as_string()->empty())
    return bad_param("model", "expected the name of a model that makes embeddings");
  out.request.model = *model->as_string();
  if (Result<> ok = read_input(body, out.request.texts); !ok) return fail(std::move(ok.error()));
  const Result<EmbeddingEncoding> encoding = read_encoding(body);
  if (!encoding) return fail(encoding.error());
  out.encoding = *encoding;
  if (const Value* dimensions = given(body, "dimensions")) {
    out.request.dimensions = dimensions->as_int();
    if (!out.request.dimensions || *out.request.dimensions < 1 ||
        *out.request.dimensions > kMaxEmbeddingDimensions)
      return bad_param("dimensions",
                       fmt::format("expected a whole number from 1 to {}", kMaxEmbeddingDimensions));
  }
  if (const Value* user = given(body, "user")) {
    if (user->as_string() == nullptr) return bad_param("user", "expected a string");
    out.request.user = *user->as_string();
  }
  return out;
}

Value embeddings_view(const llm::Embeddings& made, EmbeddingEncoding encoding) {
  Value data = Value::array();
  for (size_t i = 0; i < made.vectors.size(); ++i) {
    const std::vector<double>& vector = made.vectors[i];
    const bool text = encoding == EmbeddingEncoding::kBase64;
    data.push_back(Value::object({{"object", "embedding"},
                                  {"index", i},
                                  {"embedding", text ? Value(as_base64(vector)) : as_numbers(vector)}}));
  }
  return Value::object({{"object", "list"},
                        {"data", std::move(data)},
                        {"model", made.model},
                        {"usage", Value::object({{"prompt_tokens", made.input_tokens},
                                                 {"total_tokens", made.input_tokens}})}});
}

}  // namespace chela::api
