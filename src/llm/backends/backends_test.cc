#include "llm/backends/backends.h"

#include <gtest/gtest.h>

#include "net/curl_client.h"
#include "os/poller.h"
#include "runtime/asio_loop.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"
#include "testing/scripted_model.h"
#include "testing/test_dir.h"

namespace chela::llm {
namespace {

class BackendsTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Backends>> make(const config::LlmSettings& llm) {
    const Result<Catalog> catalog = Catalog::parse(
        R"({"models":[{"id":"local/small","context_tokens":2048,"prompt":"minimal","files":["none.gguf"]},{"id":"big*","context_tokens":9}]})");
    return Backends::create(llm, {}, *catalog,
                            {.infer_program = "none", .models_dir = dir.path(), .socket = dir.path() + "/s"},
                            {.loop = loop, .poller = *poller, .http = *http, .ids = ids});
  }
  Result<Answer> ask(Backends& backends, std::string model) {
    Provider& provider = backends.provider_for(model);
    Request request{.model = std::move(model), .messages = {{.content = "hi"}}};
    return runtime::block_on(loop, provider.complete(std::move(request), {}, std::nullopt, {}));
  }

  runtime::AsioLoop loop;
  testing::CountingIds ids;
  testing::TestDir dir;
  std::unique_ptr<os::Poller> poller = std::move(*os::Poller::create(loop));
  std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop);
};

TEST_F(BackendsTest, WithoutAProviderTheLocalModelIsTheDefault) {
  const auto backends = std::move(*make({.backend = config::LlmBackend::kLocal}));
  EXPECT_EQ(backends->default_model(), "local/small");
  EXPECT_EQ(backends->info("local/small").prompt, PromptStyle::kMinimal);
  const Result<Answer> answer = ask(*backends, "local/small");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().detail("reason"), "model_missing");
  runtime::block_on(loop, backends->stop());
}

TEST_F(BackendsTest, AConfiguredProviderAnswersForAllButLocalModels) {
  testing::ScriptedModel model(loop);
  ASSERT_TRUE(model.listen_tcp(0));
  ASSERT_TRUE(model.load(R"({"replies":[{"status":500,"retry_after":"0"}]})"));
  config::LlmSettings settings{.backend = config::LlmBackend::kOpenAiCompatible,
                               .base_url = model.base_url(),
                               .api_key = "key-for-test",
                               .model = "big-1",
                               .max_retries = 1};
  settings.extra_headers = {{"X-Test", "yes"}};
  const auto backends = std::move(*make(settings));
  EXPECT_EQ(backends->default_model(), "big-1");
  EXPECT_EQ(backends->info("big-1").context_tokens, 9);
  const Result<Answer> answer = ask(*backends, "unheard-of");  // after one repetition
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "echo: hi");
  EXPECT_EQ(model.request_count(), 2u);
  EXPECT_EQ(model.requests().back().headers.value_or("X-Test"), "yes");
  EXPECT_EQ(ask(*backends, "local/small").error().detail("reason"), "model_missing");
  EXPECT_EQ(model.request_count(), 2u);
  runtime::block_on(loop, backends->stop());
  runtime::block_on(loop, model.stop());
}

TEST_F(BackendsTest, AWrongBaseUrlIsRefused) {
  const auto made = make({.backend = config::LlmBackend::kOpenAiCompatible, .base_url = "nonsense"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace chela::llm
