#include "api/embeddings_request.h"

#include <gtest/gtest.h>

#include "api/api_test_fixture.h"
#include "api/limits.h"

namespace chela::api {
namespace {

class EmbeddingsApi : public ApiTest {
 protected:
  EmbeddingsApi() {
    services_.embed = [this](llm::EmbeddingRequest request, std::optional<SteadyTime>,
                             std::stop_token) -> Task<Result<llm::Embeddings>> {
      return answer(std::move(request));
    };
  }
  Task<Result<llm::Embeddings>> answer(llm::EmbeddingRequest request) {
    asked = request;
    if (failure) co_return fail(*failure);
    std::vector<std::vector<double>> vectors(request.texts.size(), {1, -0.5});
    co_return llm::Embeddings{.vectors = vectors, .input_tokens = 5, .model = request.model};
  }
  Error refused(std::string_view body) {
    const auto answer = call("openai::embeddings", body);
    EXPECT_FALSE(answer) << body;
    return answer ? Error{} : answer.error();
  }

  llm::EmbeddingRequest asked;
  std::optional<Error> failure;
};

TEST_F(EmbeddingsApi, TextsBecomeVectors) {
  const auto answer =
      call("openai::embeddings", R"({"model": "m", "input": ["a", "b"], "dimensions": 2, "user": "ada"})");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(json::write(*answer),
            R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[1.0,-0.5]},)"
            R"({"object":"embedding","index":1,"embedding":[1.0,-0.5]}],"model":"m",)"
            R"("usage":{"prompt_tokens":5,"total_tokens":5}})");
  EXPECT_EQ(asked.texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(asked.dimensions, 2);
  EXPECT_EQ(asked.user, "ada");
  EXPECT_EQ(asked.caller.channel, "v1");
}

TEST_F(EmbeddingsApi, Base64IsOfSmallFloats) {
  const auto answer =
      call("openai::embeddings", R"({"model": "m", "input": "a", "encoding_format": "base64"})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->find("data")->as_array()->at(0).string_or("embedding"), "AACAPwAAAL8=");
}

TEST_F(EmbeddingsApi, WhatIsWrongIsNamed) {
  EXPECT_EQ(refused(R"({"input": "a"})").detail("param"), "model");
  EXPECT_EQ(refused(R"({"model": "chela", "input": "a"})").detail("param"), "model");
  EXPECT_EQ(refused(R"({"model": "m"})").detail("param"), "input");
  EXPECT_EQ(refused(R"({"model": "m", "input": []})").detail("param"), "input");
  EXPECT_EQ(refused(R"({"model": "m", "input": ""})").detail("param"), "input");
  EXPECT_EQ(refused(R"({"model": "m", "input": [1, 2]})").detail("param"), "input[0]");
  EXPECT_EQ(refused(R"({"model": "m", "input": ["x", [1, 2]]})").detail("param"), "input[1]");
  EXPECT_EQ(refused(R"({"model": "m", "input": "a", "encoding_format": "int8"})").detail("param"),
            "encoding_format");
  EXPECT_EQ(refused(R"({"model": "m", "input": "a", "dimensions": 0})").detail("param"), "dimensions");
  EXPECT_EQ(refused(R"({"model": "m", "input": "a", "user": 7})").detail("param"), "user");
}

TEST_F(EmbeddingsApi, CountAndSizeAreLimited) {
  const auto body = [](json::Value input, std::int64_t dimensions) {
    return json::write(
        json::Value::object({{"model", "m"}, {"input", std::move(input)}, {"dimensions", dimensions}}));
  };
  json::Value most = json::Value::array();
  for (size_t i = 0; i < kMaxEmbeddingTexts; ++i) most.push_back("x");
  EXPECT_TRUE(call("openai::embeddings", body(most, 1)));
  most.push_back("x");
  EXPECT_EQ(refused(body(most, 1)).detail("param"), "input");
  EXPECT_TRUE(
      call("openai::embeddings", body(std::string(kMaxEmbeddingTextBytes, 'x'), kMaxEmbeddingDimensions)));
  EXPECT_EQ(refused(body(std::string(kMaxEmbeddingTextBytes + 1, 'x'), 1)).detail("param"), "input");
  EXPECT_EQ(refused(body("x", kMaxEmbeddingDimensions + 1)).detail("param"), "dimensions");
}

TEST_F(EmbeddingsApi, FailuresBehindUsAreTold) {
  failure = Error{.code = Code::kUnauthenticated, .message = "no"};
  EXPECT_EQ(refused(R"({"model": "m", "input": "a"})").detail("code"), "upstream_auth");
  failure = Error{.code = Code::kUnsupported, .message = "Anthropic has no embeddings"};
  EXPECT_EQ(refused(R"({"model": "m", "input": "a"})").code, Code::kUnsupported);
}

}  // namespace
}  // namespace chela::api
