#include "llm/embeddings/wire.h"

#include <gtest/gtest.h>

#include "llm/embeddings/limits.h"

namespace chela::llm::embeddings {
namespace {

const llm::wire::ErrorContext kErrors{.server = "acme:1", .secrets = {}};

json::Value parsed(std::string_view text) { return *json::parse(text); }

TEST(EmbeddingWire, EachProtocolAsksInItsOwnWay) {
  const EmbeddingRequest request{.model = "m", .texts = {"a", "b"}, .dimensions = 3, .user = "u"};
  const Wire openai = *wire_of(Protocol::kOpenAiChat);
  EXPECT_EQ(openai.path("m"), "/embeddings");
  EXPECT_EQ(json::write(openai.body(request, "m", request.texts)),
            R"({"model":"m","input":["a","b"],"dimensions":3,"user":"u"})");
  const Wire gemini = *wire_of(Protocol::kGemini);
  EXPECT_EQ(gemini.path("models/a b"), "/models/a%20b:batchEmbedContents");
  EXPECT_EQ(
      json::write(gemini.body(request, "m", std::span(request.texts).first(1))),
      R"({"requests":[{"model":"models/m","content":{"parts":[{"text":"a"}]},"outputDimensionality":3}]})");
  const Wire ollama = *wire_of(Protocol::kOllama);
  EXPECT_EQ(ollama.path("m"), "/api/embed");
  EXPECT_EQ(json::write(ollama.body(request, "m", request.texts)),
            R"({"model":"m","input":["a","b"],"truncate":false,"dimensions":3})");
  EXPECT_FALSE(wire_of(Protocol::kAnthropic));
  EXPECT_FALSE(wire_of(Protocol::kBedrock));
}

TEST(EmbeddingWire, VectorsComeInTheOrderOfTheirTexts) {
  const Wire wire = *wire_of(Protocol::kNearAi);
  const auto vectors = read_vectors(
      wire, kErrors, parsed(R"({"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}]})"), 2);
  ASSERT_TRUE(vectors) << vectors.error().text();
  EXPECT_EQ(*vectors, (std::vector<std::vector<double>>{{1, 2}, {3, 4}}));
  EXPECT_EQ(wire.tokens(parsed(R"({"usage":{"prompt_tokens":7}})")), 7);
  EXPECT_EQ(wire.tokens(parsed("{}")), 0);
}

TEST(EmbeddingWire, WhatIsNoEmbeddingIsUpstream) {
  const Wire wire = *wire_of(Protocol::kOpenAiChat);
  for (const char* text : {R"({})", R"({"data":7})", R"({"data":[{"embedding":[1]}]})",
                           R"({"data":[{"embedding":[1]},{"embedding":[1,2]}]})",
                           R"({"data":[{"embedding":[]},{"embedding":[]}]})",
                           R"({"data":[{"embedding":["x"]},{"embedding":[1]}]})",
                           R"({"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]})",
                           R"({"data":[{"index":9,"embedding":[1]},{"index":0,"embedding":[1]}]})"}) {
    const auto vectors = read_vectors(wire, kErrors, parsed(text), 2);
    ASSERT_FALSE(vectors) << text;
    EXPECT_EQ(vectors.error().code, Code::kUpstream) << text;
  }
  json::Value many = json::Value::array();
  for (size_t i = 0; i <= kMaxDimensions; ++i) many.push_back(1);
  const json::Value answer = json::Value::object(
      {{"data", json::Value::array({json::Value::object({{"embedding", std::move(many)}})})}});
  EXPECT_FALSE(read_vectors(wire, kErrors, answer, 1));
}

}  // namespace
}  // namespace chela::llm::embeddings
