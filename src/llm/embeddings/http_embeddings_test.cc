// Embeddings of each protocol that has them, from a scripted server over real sockets.
#include "llm/embeddings/http_embeddings.h"

#include <gtest/gtest.h>

#include "llm/embeddings/limits.h"
#include "net/curl_client.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"

namespace chela::llm::embeddings {
namespace {

constexpr std::string_view kKey = "sk-a-secret-of-the-test";

class HttpEmbeddingsTest : public ::testing::TestWithParam<Protocol> {
 protected:
  void SetUp() override { ASSERT_TRUE(model.listen_tcp(0)); }
  void TearDown() override { runtime::block_on(loop, model.stop()); }

  Result<Embeddings> embed(EmbeddingRequest request, std::stop_token stop = {}) {
    const auto made =
        HttpEmbeddings::create(GetParam(), "Acme", "vectors-1",
                               {.base_url = model.base_url(), .api_key = std::string(kKey)}, *http, loop);
    EXPECT_TRUE(made);
    return runtime::block_on(loop, (*made)->embed(std::move(request), std::nullopt, std::move(stop)));
  }

  runtime::AsioLoop loop;
  std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop);
  testing::ScriptedModel model{loop};
};

INSTANTIATE_TEST_SUITE_P(All, HttpEmbeddingsTest,
                         ::testing::Values(Protocol::kOpenAiChat, Protocol::kOpenAiResponses,
                                           Protocol::kGemini, Protocol::kOllama, Protocol::kNearAi),
                         [](const auto& each) { return std::string(protocol_name(each.param)); });

TEST_P(HttpEmbeddingsTest, MakesAVectorForEachText) {
  const Result<Embeddings> made =
      embed({.model = "mine", .texts = {"a crab", "a crab", "nothing"}, .dimensions = 8});
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_EQ(made->vectors.size(), 3u);
  EXPECT_EQ(made->vectors[0].size(), 8u);
  EXPECT_EQ(made->vectors[0], made->vectors[1]);
  EXPECT_NE(made->vectors[0], made->vectors[2]);
  EXPECT_EQ(made->model, "mine");
  EXPECT_GT(made->input_tokens, 0);
  EXPECT_NE(json::write(model.requests().back().body).find("vectors-1"), std::string::npos);
}

TEST_P(HttpEmbeddingsTest, ManyTextsAreAskedForInBatches) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < kBatch + kGeminiBatch; ++i) texts.push_back("text " + std::to_string(i));
  const Result<Embeddings> made = embed({.model = "m", .texts = texts, .dimensions = 16});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->vectors.size(), texts.size());
  EXPECT_EQ(model.requests().size(), GetParam() == Protocol::kGemini ? 4u : 2u);
}

TEST_P(HttpEmbeddingsTest, ErrorsAreTypedAndTellNoKey) {
  // The scripted server refuses what is no number of dimensions.
  const Result<Embeddings> made = embed({.model = "m", .texts = {"x"}, .dimensions = 5000});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
  EXPECT_EQ(made.error().detail("status"), "400");
  EXPECT_EQ(made.error().text().find(kKey), std::string::npos);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(embed({.model = "m", .texts = {"x"}}, stop.get_token()).error().code, Code::kCancelled);
}

static_assert(kMaxAnswerBytes > kBatch * 3072 * 24, "a whole batch of large vectors fits");

TEST(HttpEmbeddings, AProtocolWithoutThemSaysWhatToDo) {
  runtime::AsioLoop loop;
  const auto http = net::make_curl_client(loop);
  const auto made =
      HttpEmbeddings::create(Protocol::kAnthropic, "Anthropic", "m", {.base_url = "http://a"}, *http, loop);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kUnsupported);
  EXPECT_NE(made.error().message.find("Anthropic has no embeddings"), std::string::npos);
}

}  // namespace
}  // namespace chela::llm::embeddings
