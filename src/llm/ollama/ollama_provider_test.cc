// What is this server's own; what all adapters promise is tested in llm/backends/.
#include "llm/ollama/ollama_provider.h"

#include <gtest/gtest.h>

#include "net/curl_client.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"

namespace chela::llm::ollama {
namespace {

TEST(Ollama, AnyFormOfItsAddressWillDo) {
  runtime::AsioLoop loop;
  const auto http = net::make_curl_client(loop);
  testing::ScriptedModel model(loop);
  ASSERT_TRUE(model.listen_tcp(0));
  for (const std::string_view end : {"", "/", "/v1", "/api", "/api/chat"}) {
    const auto provider = std::move(*OllamaProvider::create(
        {.base_url = model.base_url() + std::string(end), .api_key = "cloud-key"}, *http, loop));
    Request request{.model = "q", .messages = {{.content = "hi"}}};
    const Result<Answer> answer = runtime::block_on(loop, provider->complete(request, {}, std::nullopt, {}));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(model.requests().back().path, "/api/chat");
    EXPECT_EQ(model.requests().back().headers.value_or("Authorization"), "Bearer cloud-key");
    EXPECT_EQ(runtime::block_on(loop, provider->models({})).value_or(std::vector<std::string>{}),
              std::vector<std::string>{"scripted"});
  }
  runtime::block_on(loop, model.stop());
  EXPECT_FALSE(OllamaProvider::create({.base_url = "nonsense"}, *http, loop));
}

}  // namespace
}  // namespace chela::llm::ollama
