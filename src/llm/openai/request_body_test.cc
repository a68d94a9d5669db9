#include "llm/openai/request_body.h"

#include <gtest/gtest.h>

namespace chela::llm::openai {
namespace {

Message user(std::string text) { return {.role = Role::kUser, .content = std::move(text)}; }
TEST(RequestBody, AsksForAStreamWithUsage) {
  Request request{.model = "m", .messages = {user("hi")}, .sampling = {.max_tokens = 5}};
  request.extra.set("stream", false);
  request.extra.set("user", "u");
  const Endpoint compatible = *Endpoint::from_base_url("http://localhost:1");
  EXPECT_EQ(
      request_body(request, compatible),
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":5,"user":"u","stream":true,)"
      R"("stream_options":{"include_usage":true}})");
  const Endpoint openai = *Endpoint::from_base_url("https://api.openai.com/v1");
  EXPECT_NE(request_body(request, openai).find(R"("max_completion_tokens":5)"), std::string::npos);
  EXPECT_EQ(request_body(request, openai).find(R"("max_tokens")"), std::string::npos);
}

TEST(RequestBody, IsWhatAServerWithMannersOfItsOwnTakes) {
  const Request request{.model = "m", .messages = {user("hi")}, .sampling = {.max_tokens = 5, .seed = 7}};
  const Endpoint server = *Endpoint::from_base_url("http://localhost:1");
  const ChatManners manners{
      .renamed_params = {{"seed", "random_seed"}, {"max_tokens", "max_completion_tokens"}, {"stop", "halt"}},
      .stream_options = false};
  EXPECT_EQ(request_body(request, server, manners),
            R"({"model":"m","messages":[{"role":"user","content":"hi"}],"random_seed":7,)"
            R"("max_completion_tokens":5,"stream":true})");
}

TEST(RequestBody, ThoughtsGoBackWithTheirCallsWhereTheyAreWanted) {
  const Message asked{.role = Role::kAssistant,
                      .tool_calls = {{.id = "a", .name = "f", .arguments = "{}"}},
                      .provider_data = R"({"openai":"hm"})"};
  Message foreign = asked;
  foreign.provider_data = R"({"anthropic":[]})";
  const Message result{.role = Role::kTool, .content = "r", .tool_call_id = "a"};
  const Request request{
      .model = "m",
      .messages = {
          user("hi"), asked, result, foreign, result, {.role = Role::kAssistant, .content = "done"}}};
  const Endpoint server = *Endpoint::from_base_url("http://localhost:1");
  const json::Value with = *json::parse(request_body(request, server, {.wants_reasoning = true}));
  const json::Array& messages = *with.find("messages")->as_array();
  ASSERT_EQ(messages.size(), 6u);
  EXPECT_EQ(messages[1].string_or("reasoning_content"), "hm");
  // Another model's are not there; a server that wants the field refuses the message without it.
  EXPECT_EQ(messages[3].string_or("reasoning_content", "missing"), "");
  EXPECT_EQ(messages[5].find("reasoning_content"), nullptr);
  EXPECT_FALSE(request_body(request, server).contains("reasoning_content"));
  EXPECT_FALSE(request_body(request, server, {.wants_reasoning = true}).contains("provider_data"));
}

TEST(RequestBody, HoldsTheToolsAsTheRequestDoes) {
  const json::Value schema = *json::parse(R"({"type":"object","properties":{"a \"b\"":{"type":"string"}}})");
  Request request{
      .model = "m", .messages = {user("hi")}, .tools = {{"one", "first", schema}, {"two", "", schema}}};
  request.tool_choice = ToolChoice::kNone;
  const auto body = json::parse(request_body(request, *Endpoint::from_base_url("http://localhost:1")));
  ASSERT_TRUE(body);
  EXPECT_EQ(*body->find("tools"), *to_json(request).find("tools"));
  EXPECT_EQ(body->string_or("tool_choice"), "none");
  EXPECT_TRUE(body->bool_or("stream", false));
}

TEST(Endpoint, UnderstandsTheFormsThatPeopleWrite) {
  const std::vector<std::pair<std::string, std::string>> forms{
      {"http://localhost:11434", "http://localhost:11434/v1"},
      {"http://localhost:11434/", "http://localhost:11434/v1"},
      {"http://localhost:11434/v1", "http://localhost:11434/v1"},
      {"http://localhost:11434/v1//", "http://localhost:11434/v1"},
      {" https://openrouter.ai/api/v1/chat/completions ", "https://openrouter.ai/api/v1"},
      {"https://host/plain/chat/completions/", "https://host/plain"},
      {"https://host/v1beta/openai", "https://host/v1beta/openai"},
      {"https://host/proxy", "https://host/proxy/v1"},
  };
  for (const auto& [given, root] : forms) {
    const Result<Endpoint> endpoint = Endpoint::from_base_url(given);
    ASSERT_TRUE(endpoint) << given;
    EXPECT_EQ(endpoint->chat_url, root + "/chat/completions") << given;
    EXPECT_EQ(endpoint->models_url, root + "/models") << given;
  }
  EXPECT_FALSE(Endpoint::from_base_url(""));
  EXPECT_FALSE(Endpoint::from_base_url("localhost:11434"));
  EXPECT_FALSE(Endpoint::from_base_url("ftp://host"));
}

}  // namespace
}  // namespace chela::llm::openai
