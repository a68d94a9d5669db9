// The adapter against a scripted model over real sockets.
#include "llm/openai/openai_provider.h"

#include <gtest/gtest.h>

#include "net/curl_client.h"
#include "runtime/task_group.h"
#include "testing/scripted_model.h"
#include "testing/test_dir.h"

namespace chela::llm::openai {
namespace {

constexpr std::string_view kKey = "sk-a-secret-of-the-test";

class OpenAi : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(model.listen_tcp(0)); }
  void TearDown() override { runtime::block_on(loop, model.stop()); }

  void script(std::string text) {
    const Result<> loaded = model.load(std::move(text));
    ASSERT_TRUE(loaded) << loaded.error().text();
  }

  std::unique_ptr<OpenAiProvider> provider(Options options = {}) {
    if (options.base_url.empty()) options.base_url = model.base_url();
    if (options.api_key.empty()) options.api_key = kKey;
    return std::move(*OpenAiProvider::create(std::move(options), *http, loop));
  }

  Result<Answer> ask(std::string text, OpenAiProvider& from, std::stop_token stop = {}) {
    streamed.clear();
    const auto sink = [this](const Delta& delta) {
      streamed += delta.text;
      if (on_delta) on_delta();
    };
    Request request{.model = "m", .messages = {{.content = std::move(text)}}};
    return runtime::block_on(loop, from.complete(std::move(request), sink, std::nullopt, std::move(stop)));
  }
  Result<Answer> ask(std::string text) {
    const auto from = provider();
    return ask(std::move(text), *from);
  }
  Error error(std::string script_text) {
    script(std::move(script_text));
    const Result<Answer> answer = ask("hi");
    EXPECT_FALSE(answer);
    return answer ? Error{} : answer.error();
  }

  runtime::AsioLoop loop;
  std::unique_ptr<net::HttpClient> http = net::make_curl_client(loop);
  testing::ScriptedModel model{loop};
  std::string streamed;
  std::function<void()> on_delta;
};

TEST_F(OpenAi, StreamsTextWithUsageAndSendsTheKeyAndExtraHeaders) {
  script(R"({"default":{"text":"Grüße, Welt 🦞","usage":{"input":9,"output":4,"cached":3}}})");
  const auto from = provider({.extra_headers = {{"X-Title", "chela"}}});
  const Result<Answer> answer = ask("hi", *from);
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "Grüße, Welt 🦞");
  EXPECT_EQ(streamed, answer->text);
  EXPECT_EQ(answer->finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer->model, "m");
  EXPECT_EQ(answer->usage.cached_tokens, 3);
  const testing::RecordedRequest& sent = model.requests().front();
  EXPECT_EQ(sent.headers.value_or("Authorization"), "Bearer " + std::string(kKey));
  EXPECT_EQ(sent.headers.value_or("X-Title"), "chela");
  EXPECT_TRUE(sent.body.bool_or("stream", false));
}

TEST_F(OpenAi, ReadsParallelCallsInFragmentsAndSplitCharacters) {
  script(R"({"default":{"text":"é🦞","write_bytes":1,"fragment_bytes":3,"tool_calls":[
    {"id":"a","name":"time","arguments":{"zone":"Zürich"}},{"id":"b","name":"echo","arguments":"{broken"}]}})");
  const Result<Answer> answer = ask("hi");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "é🦞");
  EXPECT_EQ(answer->tool_calls,
            (std::vector<ToolCall>{{"a", "time", R"({"zone":"Zürich"})"}, {"b", "echo", "{broken"}}));
  EXPECT_EQ(answer->finish_reason, FinishReason::kToolCalls);
}

TEST_F(OpenAi, AnswersThatAreNoProperStream) {
  script(
      R"({"replies":[{"text":"whole","stream":false},{"text":"odd","content_type":"text/html"},{"text":"ends","done":false},
    {"text":"x","invalid_utf8":true}]})");
  EXPECT_EQ(ask("hi")->text, "whole");
  EXPECT_EQ(streamed, "whole");
  EXPECT_EQ(ask("hi")->text, "odd");
  EXPECT_EQ(ask("hi")->text, "ends");
  EXPECT_EQ(ask("hi")->text, "x\uFFFD");
}

TEST_F(OpenAi, ConnectionsAreKept) {
  const auto from = provider();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(ask("hi", *from));
  for (const testing::RecordedRequest& request : model.requests()) {
    EXPECT_EQ(request.peer, model.requests().front().peer);
  }
}

TEST_F(OpenAi, StatusesBecomeErrors) {
  Error failed = error(R"({"default":{"status":429,"retry_after":"7","error":{"message":"slow"}}})");
  EXPECT_EQ(failed.code, Code::kRateLimited);
  EXPECT_EQ(failed.retry_after, 7s);
  failed = error(R"({"default":{"status":401,"body":"bad key sk-a-secret-of-the-test"}})");
  EXPECT_EQ(failed.code, Code::kUnauthenticated);
  EXPECT_EQ(failed.text().find("sk-a-secret"), std::string::npos);
  EXPECT_EQ(error(R"({"default":{"status":404}})").code, Code::kNotFound);
  failed = error(R"({"default":{"status":400,"error":{"message":"x","code":"context_length_exceeded"}}})");
  EXPECT_EQ(failed.code, Code::kInvalidArgument);
  EXPECT_EQ(failed.detail("reason"), "context_length");
  EXPECT_EQ(error(R"({"default":{"status":500}})").code, Code::kUpstream);
  EXPECT_EQ(failed.detail("streamed"), "");
}

TEST_F(OpenAi, CutGarbageAndErrorsInTheMiddleOfAnAnswer) {
  Error failed = error(R"({"default":{"text":"one two three","cut_after":3}})");
  EXPECT_EQ(failed.code, Code::kUpstream);
  EXPECT_EQ(failed.detail("streamed"), "1");
  EXPECT_NE(failed.detail("said_bytes"), "");
  EXPECT_EQ(streamed, "one two");
  failed = error(R"({"default":{"text":"one two","cut_after":0}})");
  EXPECT_EQ(failed.code, Code::kUpstream);
  EXPECT_EQ(failed.detail("streamed"), "");
  EXPECT_EQ(error(R"({"default":{"text":"one two","garbage_after":2}})").code, Code::kUpstream);
  EXPECT_EQ(error(R"({"default":{"body":"<html>hello</html>","content_type":"text/html"}})").code,
            Code::kUpstream);
  EXPECT_EQ(error(R"({"default":{"events":[{"error":{"message":"busy","code":429}}]}})").code,
            Code::kRateLimited);
}

TEST_F(OpenAi, ACutAfterTheFinishReasonLosesNothing) {
  script(R"({"default":{"text":"all","cut_after":3}})");  // role, text, finish; then half of [DONE]
  const Result<Answer> answer = ask("hi");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "all");
}

TEST_F(OpenAi, SilenceIsATimeout) {
  const auto from = provider({.stall_timeout = 100ms});
  for (const std::string_view text :
       {R"({"default":{"answered":false}})", R"({"default":{"text":"a b c","stall_after":2}})"}) {
    script(std::string(text));
    const Result<Answer> answer = ask("hi", *from);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kTimeout);
    EXPECT_EQ(answer.error().detail("streamed"), streamed.empty() ? "" : "1");
  }
}

TEST_F(OpenAi, SilenceAfterTheFinishReasonLosesNothing) {
  // The stream's events: role, text, finish reason, usage, [DONE].
  const auto from = provider({.finish_timeout = 50ms});
  for (const int events : {3, 5}) {
    script(fmt::format(R"({{"default":{{"text":"all","usage":{{"input":5}},"stall_after":{}}}}})", events));
    const Result<Answer> answer = ask("hi", *from);
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->text, "all");
    EXPECT_EQ(answer->usage.input_tokens, events == 3 ? 0 : 5);
  }
}

TEST_F(OpenAi, TheEndOfTheResponseIsWaitedForOnlyShortly) {
  // After [DONE] the connection stays open without another byte.
  script(R"({"default":{"text":"all","usage":{"input":5},"stall_after":5}})");
  const auto from = provider({.finish_timeout = 1h});
  const SteadyTime before = loop.clock().steady();
  const Result<Answer> answer = ask("hi", *from);
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "all");
  EXPECT_GE(loop.clock().steady() - before, kModelDrainTimeout);
}

TEST_F(OpenAi, TooMuchOnTheWireIsRefused) {
  const auto from = provider({.max_stream_bytes = 2000});
  script(R"({"default":{"text":"a b c d e f g h i j k l m n o p"}})");
  const Result<Answer> answer = ask("hi", *from);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUpstream);
  EXPECT_EQ(answer.error().detail("reason"), "answer_too_large");
}

TEST_F(OpenAi, AnEndlessErrorBodyIsNotReadToItsEnd) {
  const Error failed = error(fmt::format(R"({{"default":{{"status":500,"body":"{}"}}}})",
                                         std::string(4 * kMaxModelErrorBytes, 'x')));
  EXPECT_EQ(failed.code, Code::kUpstream);
  EXPECT_LT(failed.message.size(), kMaxProviderMessageBytes + 100);
}

TEST_F(OpenAi, AStopEndsTheStreamAtOnce) {
  script(R"({"default":{"text":"a b c","stall_after":2}})");
  std::stop_source stop;
  on_delta = [&stop] { stop.request_stop(); };
  const auto from = provider();
  const Result<Answer> answer = ask("hi", *from, stop.get_token());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kCancelled);
}

TEST_F(OpenAi, AnUnreachableServerIsUnavailable) {
  const auto from = provider({.base_url = "http://127.0.0.1:1"});
  const Result<Answer> answer = ask("hi", *from);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_NE(answer.error().message.find("llm.base_url"), std::string::npos);
}

TEST_F(OpenAi, WorksOverAUnixSocket) {
  const testing::TestDir dir;
  ASSERT_TRUE(model.listen_unix(dir.path() + "/s"));
  const auto from = provider({.base_url = "http://localhost/v1/", .unix_socket = dir.path() + "/s"});
  EXPECT_EQ(ask("hi", *from)->text, "echo: hi");
}

TEST_F(OpenAi, ListsModels) {
  script(R"({"model":"abc"})");
  const auto from = provider();
  EXPECT_EQ(*runtime::block_on(loop, from->models({})), std::vector<std::string>{"abc"});
  const auto nowhere = provider({.base_url = "http://127.0.0.1:1"});
  EXPECT_FALSE(runtime::block_on(loop, nowhere->models({})));
}

TEST(OpenAiOptions, AWrongBaseUrlIsRefused) {
  runtime::AsioLoop loop;
  const auto http = net::make_curl_client(loop);
  const auto made = OpenAiProvider::create({.base_url = "nonsense"}, *http, loop);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
}

TEST(ModelScript, RulesRepliesAndDefaultInThisOrder) {
  Result<testing::Script> script = testing::Script::parse(R"({
    "rules":[{"when":{"last_user_matches":"^sum \\d+"},"replies":[{"text":"r1","times":2},{"text":"r2"}]},
             {"when":{"last_role":"tool"},"reply":{"text":"got {last}"}}],
    "replies":[{"text":"q1"},{"text":"q2"}],"default":{"text":"d {last_user}"}})");
  ASSERT_TRUE(script) << script.error().text();
  const auto say = [&script](std::string_view body) {
    return script->next(testing::Asked::read(*json::parse(body))).text;
  };
  const std::string_view sum = R"({"messages":[{"role":"user","content":"sum 12"}]})";
  EXPECT_EQ(say(sum) + say(sum) + say(sum) + say(sum), "r1r1r2r2");
  EXPECT_EQ(say(R"({"messages":[{"role":"user","content":"x"},{"role":"tool","content":"42"}]})"), "got 42");
  const std::string_view other = R"({"messages":[{"role":"user","content":"u"}]})";
  EXPECT_EQ(say(other) + say(other) + say(other), "q1q2d u");
}

TEST(ModelScript, TypingErrorsAreSeen) {
  for (const std::string_view text :
       {R"([])", R"({"reply":{}})", R"({"default":{"txt":"x"}})", R"({"rules":[{"when":{}}]})",
        R"({"rules":[{"when":{"last_matches":"("},"reply":{}}]})", R"({"default":{"status":"ok"}})"}) {
    EXPECT_FALSE(testing::Script::parse(text)) << text;
  }
}

TEST(OpenAiOptions, BeginWithTheLimits) {
  const Options options;
  EXPECT_EQ(options.connect_timeout, kModelConnectTimeout);
  EXPECT_EQ(options.stall_timeout, kModelStallTimeout);
  EXPECT_EQ(options.finish_timeout, kModelFinishTimeout);
  EXPECT_EQ(options.max_stream_bytes, kMaxModelStreamBytes);
}

}  // namespace
}  // namespace chela::llm::openai
