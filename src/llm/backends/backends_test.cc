#include "llm/backends/backends.h"

#include <gtest/gtest.h>

#include "net/curl_client.h"
#include "os/poller.h"
#include "runtime/asio_loop.h"
#include "runtime/task_group.h"
#include "testing/fake_keys.h"
#include "testing/manual_loop.h"
#include "testing/scripted_model.h"
#include "testing/test_dir.h"

namespace chela::llm {
namespace {

json::Value parsed(std::string_view text) { return *json::parse(text); }

class BackendsTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Backends>> make(const config::LlmSettings& llm) {
    Result<Catalog> catalog = Catalog::parse({{"models.toml", parsed(R"({"models":{
        "local":{"small":{"context":2048,"prompt":"minimal","files":["none.gguf"]}},
        "acme":{"big*":{"context":9},"clever":{"context":7,"sent_as":"acme-clever-1","flags":["vision"]}},
        "other":{"quick":{"context":5}}},
      "aliases":{"best":"acme/clever"}})")}});
    const std::string acme = acme_url.empty() ? "https://acme.test/v1" : acme_url;
    Result<Providers> providers = Providers::parse(
        {{"providers.toml",
          json::Value::object(
              {{"providers",
                json::Value::object(
                    {{"acme", json::Value::object({{"name", "Acme"},
                                                   {"base_url", acme},
                                                   {"key_env", json::Value::array({"ACME_KEY"})},
                                                   {"default_model", "clever"},
                                                   {"model_env", json::Value::array({"ACME_MODEL"})}})},
                     {"openai",
                      parsed(R"({"base_url":"https://api.openai.com/v1","key_env":["OPENAI_API_KEY"]})")},
                     {"other",
                      parsed(R"({"base_url":"https://{OTHER_HOST}/v1","key_env":["OTHER_KEY"]})")}})}})}});
    EXPECT_TRUE(catalog && providers);
    return Backends::create(llm, {}, {.catalog = std::move(*catalog), .providers = std::move(*providers)},
                            {.infer_program = "none", .models_dir = dir.path(), .socket = dir.path() + "/s"},
                            {.loop = loop, .poller = *poller, .http = *http, .ids = ids, .keys = keys});
  }
  Result<Answer> ask(Backends& backends, std::string model) {
    Provider& provider = backends.provider_for(model);
    Request request{.model = std::move(model), .messages = {{.content = "hi"}}};
    return runtime::block_on(loop, provider.complete(std::move(request), {}, std::nullopt, {}));
  }

  runtime::AsioLoop loop;
  std::string acme_url;
  testing::FakeKeys keys;
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

TEST_F(BackendsTest, AnotherProviderAnswersForItsModelsWithItsOwnKeyAndName) {
  testing::ScriptedModel theirs(loop);
  ASSERT_TRUE(theirs.listen_tcp(0));
  acme_url = theirs.base_url();
  const auto backends = std::move(*make({.backend = config::LlmBackend::kLocal}));
  const Result<Answer> before = ask(*backends, "acme/clever");
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().detail("reason"), "key_missing");
  EXPECT_NE(before.error().message.find("chela secret set acme_key"), std::string::npos)
      << before.error().message;
  EXPECT_EQ(backends->check("best").error().detail("reason"), "key_missing");
  EXPECT_EQ(theirs.request_count(), 0u);

  keys.set_secret("acme_key", "sealed-for-test");  // counts without a restart
  ASSERT_TRUE(backends->check("best"));
  for (const std::string name : {"acme/clever", "clever", "best", "acme/acme-clever-1"}) {
    ASSERT_TRUE(ask(*backends, name)) << name;
    EXPECT_EQ(theirs.requests().back().body.string_or("model"), "acme-clever-1") << name;
    EXPECT_EQ(backends->info(name).context_tokens, 7) << name;
    EXPECT_TRUE(backends->info(name).sees_images) << name;
    EXPECT_EQ(backends->resolve(name).provider, "acme");
  }
  EXPECT_EQ(theirs.requests().back().headers.value_or("Authorization"), "Bearer sealed-for-test");
  keys.variables["ACME_KEY"] = "changed-for-test";
  keys.change();
  ASSERT_TRUE(ask(*backends, "acme/unheard-of"));
  EXPECT_EQ(theirs.requests().back().body.string_or("model"), "unheard-of");
  EXPECT_EQ(theirs.requests().back().headers.value_or("Authorization"), "Bearer changed-for-test");
  runtime::block_on(loop, backends->stop());
  runtime::block_on(loop, theirs.stop());
}

TEST_F(BackendsTest, AnyProviderCanBeTheBackend) {
  testing::ScriptedModel theirs(loop);
  ASSERT_TRUE(theirs.listen_tcp(0));
  acme_url = theirs.base_url();
  keys.variables = {{"ACME_KEY", "key-for-test"}, {"ACME_MODEL", "clever"}};
  const auto backends = std::move(*make({.backend = config::LlmBackend::kProvider, .provider = "acme"}));
  EXPECT_EQ(backends->backend_id(), "acme");
  EXPECT_EQ(backends->default_model(), "clever");
  ASSERT_TRUE(ask(*backends, ""));
  EXPECT_EQ(ask(*backends, "clever")->text, "echo: hi");
  EXPECT_EQ(theirs.requests().back().body.string_or("model"), "acme-clever-1");
  backends->set_default_model("other/quick", config::ModelNaming::kCatalog);
  EXPECT_EQ(backends->resolve("").provider, "other");
  EXPECT_EQ(backends->check("").error().detail("reason"), "key_missing");
  keys.variables["OTHER_KEY"] = "key-for-test";
  keys.change();
  const Result<Answer> nowhere = ask(*backends, "other/quick");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("OTHER_HOST is not set"), std::string::npos)
      << nowhere.error().message;
  runtime::block_on(loop, backends->stop());
  runtime::block_on(loop, theirs.stop());
}

TEST_F(BackendsTest, ABackendThatThereIsNoneOfIsNamedWithThoseThereAre) {
  const auto made = make({.backend = config::LlmBackend::kProvider, .provider = "nobody"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kUnsupported);
  EXPECT_NE(made.error().message.find("local, openai_compatible, acme, openai, other"), std::string::npos)
      << made.error().message;
}

TEST_F(BackendsTest, AWrongBaseUrlIsRefused) {
  const auto made = make({.backend = config::LlmBackend::kOpenAiCompatible, .base_url = "nonsense"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace chela::llm
