// What is this server's own; what all adapters promise is tested in llm/backends/.
#include "llm/responses/responses_provider.h"

#include <gtest/gtest.h>

#include "net/curl_client.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"

namespace chela::llm::responses {
namespace {

TEST(Responses, AsksAtItsPathAndListsModels) {
  runtime::AsioLoop loop;
  const auto http = net::make_curl_client(loop);
  testing::ScriptedModel model(loop);
  ASSERT_TRUE(model.listen_tcp(0));
  const auto provider = std::move(*ResponsesProvider::create(
      {.base_url = model.base_url(), .api_key = "sk-key-of-the-test"}, *http, loop));
  Request request{.model = "gpt-5", .messages = {{.content = "hi"}}};
  const Result<Answer> answer = runtime::block_on(loop, provider->complete(request, {}, std::nullopt, {}));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "echo: hi");
  EXPECT_EQ(model.requests().front().path, "/v1/responses");
  EXPECT_EQ(model.requests().front().headers.value_or("Authorization"), "Bearer sk-key-of-the-test");
  EXPECT_EQ(runtime::block_on(loop, provider->models({})).value_or(std::vector<std::string>{}),
            std::vector<std::string>{"scripted"});
  runtime::block_on(loop, model.stop());
  EXPECT_FALSE(ResponsesProvider::create({.base_url = "nonsense"}, *http, loop));
}

}  // namespace
}  // namespace chela::llm::responses
