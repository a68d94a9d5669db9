#include "llm/backends/make_provider.h"

#include <gtest/gtest.h>

#include "net/curl_client.h"
#include "runtime/asio_loop.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"

namespace chela::llm {
namespace {

class MakeProviderTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(model.listen_tcp(0)); }
  void TearDown() override { runtime::block_on(loop, model.stop()); }
  // What the server saw of one call.
  net::Headers headers_of_call(const ProviderEntry& entry, ProviderSetup setup) {
    setup.base_url = model.base_url();
    Result<std::unique_ptr<Provider>> made = make_provider(entry, std::move(setup), *http, loop);
    EXPECT_TRUE(made);
    const Result<Answer> answer = runtime::block_on(
        loop, (*made)->complete({.model = "m", .messages = {{.content = "hi"}}}, {}, std::nullopt, {}));
    EXPECT_TRUE(answer);
    return model.requests().back().headers;
  }

  runtime::AsioLoop loop;
  testing::ScriptedModel model{loop};
  std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop);
};

TEST_F(MakeProviderTest, TheKeyIsABearerToken) {
  const net::Headers seen =
      headers_of_call({.id = "a", .name = "a", .headers = {{"X-Entry", "1"}, {"X-Both", "1"}}},
                      {.address_key = "k", .api_key = "key-for-test", .extra_headers = {{"X-Both", "2"}}});
  EXPECT_EQ(seen.value_or("Authorization"), "Bearer key-for-test");
  EXPECT_EQ(seen.value_or("X-Entry"), "1");
  EXPECT_EQ(seen.value_or("X-Both"), "2");
}

TEST_F(MakeProviderTest, OrAHeaderOfItsOwn) {
  const net::Headers seen = headers_of_call({.id = "a", .name = "a", .key_header = "api-key"},
                                            {.address_key = "k", .api_key = "key-for-test"});
  EXPECT_EQ(seen.value_or("api-key"), "key-for-test");
  EXPECT_EQ(seen.value_or("Authorization"), "");
}

TEST_F(MakeProviderTest, AWrongAddressIsRefused) {
  const auto made =
      make_provider({.id = "a", .name = "a"}, {.base_url = "nonsense", .address_key = "k"}, *http, loop);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace chela::llm
