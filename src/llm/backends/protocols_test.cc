// What every adapter of the port promises, against a scripted server that speaks its protocol.
#include <gtest/gtest.h>

#include "llm/backends/make_provider.h"
#include "net/curl_client.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"

namespace chela::llm {
namespace {

constexpr std::string_view kKey = "sk-a-secret-of-the-test";
constexpr std::string_view kModel = "gpt-5-claude-5-gemini-3";  // one that thinks, whoever asks

class Protocols : public ::testing::TestWithParam<Protocol> {
 protected:
  void SetUp() override { ASSERT_TRUE(model.listen_tcp(0)); }
  void TearDown() override { runtime::block_on(loop, model.stop()); }

  void script(std::string text) {
    const Result<> loaded = model.load(std::move(text));
    ASSERT_TRUE(loaded) << loaded.error().text();
  }
  std::unique_ptr<Provider> provider(std::chrono::milliseconds stall = kModelStallTimeout) {
    return std::move(*make_provider({.id = "p", .name = "p", .protocol = GetParam()},
                                    {.base_url = model.base_url(),
                                     .address_key = "llm.base_url",
                                     .api_key = std::string(kKey),
                                     .stall_timeout = stall},
                                    *http, loop));
  }
  Result<Answer> ask(Request request, Provider& from, std::stop_token stop = {}) {
    streamed.clear();
    reasoned.clear();
    const auto sink = [this](const Delta& delta) {
      streamed += delta.text;
      reasoned += delta.reasoning;
      if (on_delta) on_delta();
    };
    return runtime::block_on(loop, from.complete(std::move(request), sink, std::nullopt, std::move(stop)));
  }
  Result<Answer> ask(std::string text = "hi") {
    const auto from = provider();
    return ask({.model = std::string(kModel), .messages = {{.content = std::move(text)}}}, *from);
  }
  Error error(std::string script_text) {
    script(std::move(script_text));
    const Result<Answer> answer = ask();
    EXPECT_FALSE(answer);
    return answer ? Error{} : answer.error();
  }

  runtime::AsioLoop loop;
  std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop);
  testing::ScriptedModel model{loop};
  std::string streamed;
  std::string reasoned;
  std::function<void()> on_delta;
};

INSTANTIATE_TEST_SUITE_P(All, Protocols,
                         ::testing::Values(Protocol::kOpenAiChat, Protocol::kOpenAiResponses,
                                           Protocol::kAnthropic, Protocol::kGemini, Protocol::kOllama,
                                           Protocol::kBedrock),
                         [](const auto& each) { return std::string(protocol_name(each.param)); });

TEST_P(Protocols, StreamTextThoughtsAndUsage) {
  script(
      R"({"default":{"text":"Grüße, Welt 🦞","reasoning":"let me see","usage":{"input":9,"output":4,"cached":3}}})");
  const Result<Answer> answer = ask();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "Grüße, Welt 🦞");
  EXPECT_EQ(streamed, answer->text);
  EXPECT_EQ(answer->reasoning, "let me see");
  EXPECT_EQ(reasoned, answer->reasoning);
  EXPECT_EQ(answer->finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer->model, kModel);
  EXPECT_EQ(answer->usage.input_tokens, 9);
  EXPECT_EQ(answer->usage.output_tokens, 4);
  EXPECT_EQ(answer->usage.cached_tokens, GetParam() == Protocol::kOllama ? 0 : 3);  // which does not tell
}

TEST_P(Protocols, ReadCallsInFragmentsAndSplitCharacters) {
  script(R"({"default":{"text":"é🦞","write_bytes":1,"fragment_bytes":3,"tool_calls":[
    {"id":"a","name":"time","arguments":{"zone":"Zürich"}},{"id":"b","name":"echo","arguments":{}}]}})");
  const Result<Answer> answer = ask();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "é🦞");
  EXPECT_EQ(answer->tool_calls,
            (std::vector<ToolCall>{{"a", "time", R"({"zone":"Zürich"})"}, {"b", "echo", "{}"}}));
  EXPECT_EQ(answer->finish_reason, FinishReason::kToolCalls);
}

TEST_P(Protocols, CarryAConversationWithToolsAndThoughtsOn) {
  script(
      R"({"rules":[{"when":{"last_role":"tool","last_contains":"noon","has_tool":"time"},"reply":{"text":"It is {last}."}}],
    "default":{"reasoning":"a clock is needed","tool_calls":[{"id":"c1","name":"time","arguments":{"zone":"UTC"}}]}})");
  const auto from = provider();
  Request request{
      .model = std::string(kModel),
      .messages = {{.role = Role::kSystem, .content = "be kind"}, {.content = "what time is it?"}},
      .tools = {{"time", "the time", *json::parse(R"({"type":"object"})")}}};
  request.sampling.reasoning_effort = "low";
  const Result<Answer> first = ask(request, *from);
  ASSERT_TRUE(first) << first.error().text();
  ASSERT_EQ(first->tool_calls.size(), 1u);
  request.messages.push_back({.role = Role::kAssistant,
                              .content = first->text,
                              .tool_calls = first->tool_calls,
                              .provider_data = first->provider_data});
  request.messages.push_back({.role = Role::kTool, .content = "noon", .tool_call_id = "c1"});
  const Result<Answer> second = ask(request, *from);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->text, "It is noon.");
  // What the server signed it got back; other protocols have no such thing.
  const bool signs = GetParam() != Protocol::kOpenAiChat && GetParam() != Protocol::kOllama;
  EXPECT_EQ(!first->provider_data.empty(), signs);
  EXPECT_EQ(json::write(model.requests().back().body).contains("signed:a clock is needed"), signs);
}

TEST_P(Protocols, StatusesBecomeErrorsThatSayWhetherToTryAgain) {
  Error failed = error(R"({"default":{"status":429,"retry_after":"7","error":{"message":"slow"}}})");
  EXPECT_EQ(failed.code, Code::kRateLimited);
  EXPECT_EQ(failed.retry_after, 7s);
  failed = error(R"({"default":{"status":401,"body":"bad key sk-a-secret-of-the-test"}})");
  EXPECT_EQ(failed.code, Code::kUnauthenticated);
  EXPECT_EQ(failed.text().find("sk-a-secret"), std::string::npos);
  EXPECT_EQ(error(R"({"default":{"status":404,"error":{"message":"no such model"}}})").detail("reason"),
            "model_not_found");
  failed =
      error(R"({"default":{"status":400,"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}})");
  EXPECT_EQ(failed.code, Code::kInvalidArgument);
  EXPECT_EQ(failed.detail("reason"), "context_length");
  EXPECT_EQ(failed.detail("status"), "400");
  EXPECT_EQ(error(R"({"default":{"status":500}})").code, Code::kUpstream);
}

TEST_P(Protocols, CutsAndGarbageInTheMidstAreUpstreamAndSaidToHaveStreamed) {
  Error failed = error(R"({"default":{"text":"one two three four five","cut_after":6,"reasoning":"x"}})");
  EXPECT_EQ(failed.code, Code::kUpstream);
  EXPECT_EQ(failed.detail("streamed"), "1");
  EXPECT_FALSE(streamed.empty() && reasoned.empty());
  failed = error(R"({"default":{"text":"one two","cut_after":0}})");
  EXPECT_EQ(failed.code, Code::kUpstream);
  EXPECT_EQ(failed.detail("streamed"), "");
  EXPECT_EQ(error(R"({"default":{"text":"one two","garbage_after":1}})").code, Code::kUpstream);
  EXPECT_EQ(error(R"({"default":{"body":"<html>hello</html>","content_type":"text/html"}})").code,
            Code::kUpstream);
}

TEST_P(Protocols, SilenceIsATimeoutAndAStopEndsAtOnce) {
  script(R"({"default":{"answered":false}})");
  const auto impatient = provider(100ms);
  const Request request{.model = std::string(kModel), .messages = {{.content = "hi"}}};
  EXPECT_EQ(ask(request, *impatient).error().code, Code::kTimeout);
  script(R"({"default":{"text":"a b c d e f g h","stall_after":6}})");
  EXPECT_EQ(ask(request, *impatient).error().detail("streamed"), "1");
  std::stop_source stop;
  on_delta = [&stop] { stop.request_stop(); };
  const auto patient = provider();
  EXPECT_EQ(ask(request, *patient, stop.get_token()).error().code, Code::kCancelled);
}

TEST_P(Protocols, ListTheirModels) {
  script(R"({"model":"abc"})");
  const auto from = provider();
  EXPECT_EQ(runtime::block_on(loop, from->models({})).value_or(std::vector<std::string>{}),
            std::vector<std::string>{"abc"});
}

}  // namespace
}  // namespace chela::llm
