#include "llm/backends/front.h"

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

// Providers of several protocols, all with keys, all of them failing but one.
class FrontTest : public ::testing::Test {
 protected:
  FrontTest() {
    EXPECT_TRUE(first_.listen_tcp(0) && second_.listen_tcp(0));
    keys_.variables = {{"KEY", "key-for-test"}};
  }
  ~FrontTest() override {
    if (backends_) runtime::block_on(loop_, backends_->stop());
    runtime::block_on(loop_, first_.stop());
    runtime::block_on(loop_, second_.stop());
  }

  // An engine whose backend has the protocol of the first word, its fall-back that of the second.
  void start(std::string_view protocol, std::string_view other, int breaker_threshold = 0) {
    const auto entry = [](std::string_view protocol, testing::ScriptedModel& at) {
      return json::Value::object({{"base_url", at.base_url()},
                                  {"protocol", protocol},
                                  {"key_env", json::Value::array({"KEY"})},
                                  {"default_model", "m"}});
    };
    Result<Providers> providers = Providers::parse(
        {{"p", json::Value::object({{"providers", json::Value::object({{"one", entry(protocol, first_)},
                                                                       {"two", entry(other, second_)}})}})}});
    Result<Catalog> catalog = Catalog::parse(
        {{"m",
          parsed(
              R"({"models":{"two":{"clever":{"sent_as":"two-clever-1"}}},"aliases":{"wise":"two/clever"}})")}});
    ASSERT_TRUE(providers && catalog);
    const config::LlmSettings llm{.backend = config::LlmBackend::kProvider,
                                  .provider = "one",
                                  .model = "m",
                                  .max_retries = 0,
                                  .breaker_threshold = breaker_threshold,
                                  .breaker_recovery = 30s,
                                  .fallback = {"wise"},
                                  .failover_threshold = 3,
                                  .failover_cooldown = 300s};
    if (backends_) runtime::block_on(loop_, backends_->stop());
    front_.reset();
    backends_ = std::move(
        *Backends::create(llm, {}, {.catalog = std::move(*catalog), .providers = std::move(*providers)},
                          {.infer_program = "none", .models_dir = dir_.path(), .socket = dir_.path() + "/s"},
                          {.loop = loop_, .poller = *poller_, .http = *http_, .ids = ids_, .keys = keys_}));
    front_ = std::make_unique<Front>(*backends_, llm, loop_);
  }
  Result<Answer> ask(std::string model = "m") {
    Provider& provider = front_->provider_for(model);
    Request request{.model = std::move(model), .messages = {{.content = "hi"}}};
    return runtime::block_on(loop_, provider.complete(std::move(request), {}, std::nullopt, {}));
  }

  runtime::AsioLoop loop_;
  testing::FakeKeys keys_;
  testing::CountingIds ids_;
  testing::TestDir dir_;
  std::unique_ptr<os::Poller> poller_ = std::move(*os::Poller::create(loop_));
  std::unique_ptr<net::HttpClient> http_ = net::make_curl_client(loop_);
  testing::ScriptedModel first_{loop_};
  testing::ScriptedModel second_{loop_};
  std::unique_ptr<Backends> backends_;
  std::unique_ptr<Front> front_;
};

TEST_F(FrontTest, FailOverWorksFromAnyProtocolToAnyOtherWithItsOwnName) {
  constexpr std::array<std::string_view, 5> kProtocols{"openai_chat", "openai_responses", "anthropic",
                                                       "gemini", "ollama"};
  ASSERT_TRUE(first_.load(R"({"default":{"status":503}})"));
  for (size_t n = 0; n < kProtocols.size(); ++n) {
    const std::string_view other = kProtocols[(n + 1) % kProtocols.size()];
    start(kProtocols[n], other);
    first_.reset();
    second_.reset();
    const Result<Answer> answer = ask();
    ASSERT_TRUE(answer) << kProtocols[n] << ": " << answer.error().text();
    EXPECT_EQ(answer->text, "echo: hi");
    EXPECT_EQ(answer->provider, "two");
    EXPECT_EQ(first_.request_count(), 1u);
    ASSERT_EQ(second_.request_count(), 1u);
    const testing::RecordedRequest& asked = second_.requests().back();
    EXPECT_EQ(asked.body.string_or("model", "two-clever-1"), "two-clever-1") << other;
    EXPECT_TRUE(other != "gemini" || asked.path.contains("two-clever-1")) << asked.path;
  }
}

TEST_F(FrontTest, WhoAnsweredIsSaidAndTheListIsThatOfTheModelsOwnProvider) {
  ASSERT_TRUE(first_.load(R"({"model":"of-one"})") && second_.load(R"({"model":"of-two"})"));
  start("openai_chat", "openai_chat");
  EXPECT_EQ(ask()->provider, "one");
  EXPECT_EQ(ask("wise")->provider, "two");
  const auto listed = [this](std::string_view model) {
    return runtime::block_on(loop_, front_->provider_for(model).models({}));
  };
  EXPECT_EQ(listed("m")->at(0), "of-one");
  EXPECT_EQ(listed("two/clever")->at(0), "of-two");
  EXPECT_EQ(&front_->provider_for("wise"), &front_->provider_for("two/other"));
}

TEST_F(FrontTest, ABrokenProviderIsLeftAloneAndTheOtherAnswers) {
  ASSERT_TRUE(first_.load(R"({"default":{"status":500}})"));
  start("openai_chat", "openai_chat", 2);
  for (int n = 0; n < 3; ++n) EXPECT_EQ(ask()->provider, "two");
  EXPECT_EQ(first_.request_count(), 2u) << "the breaker is of the provider, not of the model";
  EXPECT_EQ(ask("one/other")->provider, "two");
  EXPECT_EQ(first_.request_count(), 2u);
}

TEST_F(FrontTest, ASettingCountsAtOnce) {
  ASSERT_TRUE(first_.load(R"({"default":{"status":500}})"));
  start("openai_chat", "openai_chat");
  front_->configure({.failover_threshold = 3});
  EXPECT_EQ(ask().error().code, Code::kUpstream);
  front_->configure({.fallback = {"two/x"}, .failover_threshold = 3});
  EXPECT_TRUE(ask());
  EXPECT_EQ(second_.requests().back().body.string_or("model"), "x");
}

}  // namespace
}  // namespace chela::llm
