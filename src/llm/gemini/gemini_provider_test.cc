// What is this server's own; what all adapters promise is tested in llm/backends/.
#include "llm/gemini/gemini_provider.h"

#include <gtest/gtest.h>

#include "net/curl_client.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"

namespace chela::llm::gemini {
namespace {

TEST(Gemini, NamesTheModelInTheAddressAndTheKeyInAHeader) {
  runtime::AsioLoop loop;
  const auto http = net::make_curl_client(loop);
  testing::ScriptedModel model(loop);
  ASSERT_TRUE(model.listen_tcp(0));
  const auto provider = std::move(
      *GeminiProvider::create({.base_url = model.base_url(), .api_key = "key-of-the-test"}, *http, loop));
  for (const auto& [name, segment] :
       {std::pair("models/gemini-2.5-pro", "gemini-2.5-pro"), std::pair("a/../b?", "a%2F..%2Fb%3F")}) {
    Request request{.model = name, .messages = {{.content = "hi"}}};
    const Result<Answer> answer = runtime::block_on(loop, provider->complete(request, {}, std::nullopt, {}));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->text, "echo: hi");
    const testing::RecordedRequest& sent = model.requests().back();
    EXPECT_EQ(sent.path, fmt::format("/v1beta/models/{}:streamGenerateContent", segment));
    EXPECT_EQ(sent.headers.value_or("x-goog-api-key"), "key-of-the-test");
  }
  EXPECT_EQ(runtime::block_on(loop, provider->models({})).value_or(std::vector<std::string>{}),
            std::vector<std::string>{"scripted"});
  runtime::block_on(loop, model.stop());
  EXPECT_FALSE(GeminiProvider::create({.base_url = "nonsense"}, *http, loop));
}

}  // namespace
}  // namespace chela::llm::gemini
