#include "llm/nearai/nearai_provider.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "net/curl_client.h"
#include "runtime/asio_loop.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"
#include "testing/test_dir.h"

namespace chela::llm::nearai {
namespace {

class NearAi : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(model.listen_tcp(0)); }
  void TearDown() override { runtime::block_on(loop, model.stop()); }

  std::unique_ptr<NearAiProvider> provider(std::string key = {}) {
    return std::move(*NearAiProvider::create(
        {.base_url = model.base_url(), .api_key = std::move(key)},
        [this](std::string_view name) { return said[std::string(name)]; }, *http, loop));
  }
  Result<Answer> ask(NearAiProvider& from, std::vector<Message> messages = {{.content = "hi"}}) {
    return runtime::block_on(
        loop, from.complete({.model = "m", .messages = std::move(messages)}, {}, std::nullopt, {}));
  }
  void write_session(std::string_view text) { std::ofstream(dir.path() + "/s.json") << text; }
  std::string_view access() const { return model.requests().back().headers.value_or("Authorization"); }

  runtime::AsioLoop loop;
  std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop);
  testing::ScriptedModel model{loop};
  testing::TestDir dir;
  std::map<std::string, std::string> said{{"NEARAI_SESSION_PATH", dir.path() + "/s.json"}};
};

TEST_F(NearAi, CallsAndResultsAreText) {
  const auto from = provider("key-of-the-test");
  const Result<Answer> answer = ask(*from, {{.content = "x"},
                                            {.role = Role::kAssistant, .tool_calls = {{"a", "time", "{}"}}},
                                            {.role = Role::kTool, .content = "noon", .tool_call_id = "a"}});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "echo: [Tool `time` returned: noon]");
  EXPECT_FALSE(json::write(model.requests().back().body).contains("tool_call"));
  EXPECT_EQ(access(), "Bearer key-of-the-test");
  EXPECT_EQ(runtime::block_on(loop, from->models({})).value_or(std::vector<std::string>{}),
            std::vector<std::string>{"scripted"});
}

TEST_F(NearAi, ASessionIsUsedWithoutAKeyAndReadAgainWhenItIsRefused) {
  write_session(R"({"session_token":"sess_old"})");
  const auto from = provider();
  ASSERT_TRUE(ask(*from));
  EXPECT_EQ(access(), "Bearer sess_old");
  ASSERT_TRUE(model.load(R"({"replies":[{"status":401,"error":{"message":"session expired"}}]})"));
  EXPECT_EQ(ask(*from).error().code, Code::kUnauthenticated);  // no other is there
  write_session(R"({"session_token":"sess_new"})");
  ASSERT_TRUE(ask(*from));
  EXPECT_EQ(access(), "Bearer sess_new");
  said["NEARAI_SESSION_TOKEN"] = "sess_said";
  ASSERT_TRUE(ask(*from));
  EXPECT_EQ(access(), "Bearer sess_said");
}

TEST_F(NearAi, SessionFilesThatAreNone) {
  const Variables variables = [this](std::string_view name) { return said[std::string(name)]; };
  EXPECT_EQ(session_token(variables), "");
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string(R"({"session_token":7})"),
        R"({"session_token":"x","a":")" + std::string(kMaxSessionBytes, 'x') + "\"}"}) {
    write_session(text);
    EXPECT_EQ(session_token(variables), "");
  }
}

TEST_F(NearAi, AnAnswerThatIsAllReasoningIsTheAnswer) {
  ASSERT_TRUE(model.load(R"({"default":{"text":"","reasoning":"forty-two"}})"));
  const auto from = provider("k");
  EXPECT_EQ(ask(*from)->text, "forty-two");
}

}  // namespace
}  // namespace chela::llm::nearai
