// What is this server's own; what all adapters promise is tested in llm/backends/.
#include "llm/anthropic/anthropic_provider.h"

#include <gtest/gtest.h>

#include "net/curl_client.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"

namespace chela::llm::anthropic {
namespace {

TEST(Anthropic, SendsItsHeadersAndListsModels) {
  runtime::AsioLoop loop;
  const auto http = net::make_curl_client(loop);
  testing::ScriptedModel model(loop);
  ASSERT_TRUE(model.listen_tcp(0));
  ASSERT_TRUE(model.load(R"({"model":"claude-x"})"));
  wire::ServerOptions options{.base_url = model.base_url(), .api_key = "sk-ant-key-of-the-test"};
  options.extra_headers = {{"anthropic-beta", "some-feature"}};
  const auto provider = std::move(*AnthropicProvider::create(options, *http, loop));
  Request request{.model = "claude-x", .messages = {{.content = "hi"}}};
  const Result<Answer> answer = runtime::block_on(loop, provider->complete(request, {}, std::nullopt, {}));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "echo: hi");
  const testing::RecordedRequest& sent = model.requests().front();
  EXPECT_EQ(sent.path, "/v1/messages");
  EXPECT_EQ(sent.headers.value_or("x-api-key"), "sk-ant-key-of-the-test");
  EXPECT_EQ(sent.headers.value_or("anthropic-version"), "2023-06-01");
  EXPECT_EQ(sent.headers.value_or("anthropic-beta"), "some-feature");
  EXPECT_EQ(*runtime::block_on(loop, provider->models({})), std::vector<std::string>{"claude-x"});
  runtime::block_on(loop, model.stop());
  EXPECT_FALSE(AnthropicProvider::create({.base_url = "nonsense"}, *http, loop));
}

}  // namespace
}  // namespace chela::llm::anthropic
