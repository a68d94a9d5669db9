#include "api/api_test_fixture.h"

namespace chela::api {
namespace {

using agent::TurnState;
using testing::FakeEngine;

class OpenAiChat : public ApiTest {
 protected:
  Result<json::Value> chat(std::string_view body,
                           std::map<std::string, std::string, std::less<>> headers = {}) {
    return call("openai::chat", body, std::move(headers));
  }
  static std::string content(const json::Value& answer) {
    return answer.find("choices")->as_array()->at(0).find("message")->string_or("content");
  }
  static std::string finish(const json::Value& answer) {
    return answer.find("choices")->as_array()->at(0).string_or("finish_reason");
  }
};

TEST_F(OpenAiChat, ANewConversationGetsAThreadWithItsHistory) {
  engine_.script.push_back(
      {.outcome = {.state = TurnState::kCompleted, .reply = "5", .visible = "5", .usage = {10, 2, 4}}});
  const auto answer = chat(R"({"model": "chela", "messages": [{"role": "system", "content": "be brief"},
    {"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}, {"role": "user", "content": "2+3?"}],
    "tools": [{"type": "function", "function": {"name": "mine"}}], "temperature": 0})");
  ASSERT_TRUE(answer) << answer.error().text();
  ASSERT_EQ(engine_.sent.size(), 1u);
  const agent::Inbound& in = engine_.sent[0];
  EXPECT_EQ(in.channel, "v1");
  EXPECT_EQ(in.thread_id, "thread-1");
  EXPECT_EQ(in.content, "2+3?");
  EXPECT_EQ(in.client_system, "be brief");
  EXPECT_EQ(in.history.size(), 2u);
  EXPECT_EQ(in.client_tools.at(0).name, "mine");
  EXPECT_EQ(in.sampling.temperature, 0.0);
  EXPECT_EQ(engine_.looked_up.at(0).size(),
            2u);  // by what was before the last user message, system text aside
  EXPECT_EQ(content(*answer), "5");
  EXPECT_EQ(finish(*answer), "stop");
  EXPECT_EQ(answer->find("usage")->int_or("total_tokens", 0), 12);
  EXPECT_EQ(answer->find("usage")->find("prompt_tokens_details")->int_or("cached_tokens", 0), 4);
  EXPECT_TRUE(answer->string_or("id").starts_with("chatcmpl-"));
  EXPECT_EQ((*reply_headers_)["X-Chela-Thread"], "thread-1");
}

TEST_F(OpenAiChat, AKnownConversationGoesOnInItsThread) {
  engine_.known_threads.insert("old");
  engine_.transcript = "old";
  ASSERT_TRUE(chat(
      R"({"model": "chela/writer", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
    {"role": "user", "content": "yes"}]})"));
  EXPECT_EQ(engine_.sent.at(0).thread_id, "old");
  EXPECT_EQ(engine_.sent.at(0).scope.agent, "writer");
  EXPECT_TRUE(engine_.sent.at(0).history.empty());
}

TEST_F(OpenAiChat, ANamedThreadIsToldWhatCameSinceTheLastAnswer) {
  engine_.known_threads.insert("mine");
  const char* body =
      R"({"model": "chela", "metadata": {"thread_id": "mine"}, "messages": [{"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "user", "content": "d"}]})";
  ASSERT_TRUE(chat(body));
  EXPECT_EQ(engine_.sent.at(0).content, "c\n\nd");
  EXPECT_TRUE(engine_.looked_up.empty());
  const auto missing = chat(body, {{"x-chela-thread", "gone"}});  // the header wins
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
}

TEST_F(OpenAiChat, ClientToolsGoOutAsCallsAndComeBackByCallId) {
  engine_.script.push_back({.outcome = {.state = TurnState::kAwaitingClient,
                                        .visible = "",
                                        .client_calls = {{"c1", "mine", "{\"x\":1}"}}}});
  const auto asked = chat(R"({"model": "chela", "messages": [{"role": "user", "content": "go"}]})");
  ASSERT_TRUE(asked);
  EXPECT_EQ(finish(*asked), "tool_calls");
  const json::Value& message = *asked->find("choices")->as_array()->at(0).find("message");
  EXPECT_TRUE(message.find("content")->is_null());
  EXPECT_EQ(message.find("tool_calls")->as_array()->at(0).find("function")->string_or("arguments"),
            "{\"x\":1}");

  engine_.client_call_ids = {"c1"};
  const char* results = R"({"model": "chela", "messages": [{"role": "user", "content": "go"},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "mine", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "42"}]})";
  const auto answer = chat(results);
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(engine_.results.at(0).at(0).content, "42");
  EXPECT_EQ(engine_.sent.at(1).content, "");
  engine_.client_call_ids.clear();
  EXPECT_EQ(chat(results).error().code, Code::kNotFound);
}

TEST_F(OpenAiChat, ResultsAndAMessageAreOneInput) {
  engine_.client_call_ids = {"c1"};
  const char* body = R"({"model": "chela", "messages": [{"role": "user", "content": "go"},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "mine", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "42"}, {"role": "user", "content": "and hurry"}]})";
  ASSERT_TRUE(chat(body, {{"idempotency-key", "k"}}));
  ASSERT_EQ(engine_.sent.size(), 1u);
  EXPECT_EQ(engine_.sent[0].client_results.at(0).content, "42");
  EXPECT_EQ(engine_.sent[0].content, "and hurry");
  EXPECT_EQ(engine_.sent[0].idempotency_key, "k");
  // Nobody waits for them any more: they are a part of the history.
  engine_.client_call_ids.clear();
  ASSERT_TRUE(chat(body));
  EXPECT_TRUE(engine_.sent.at(1).client_results.empty());
  EXPECT_EQ(engine_.sent.at(1).history.size(), 3u);
  EXPECT_EQ(engine_.sent.at(1).content, "and hurry");
}

TEST_F(OpenAiChat, AConversationThatHasGoneOnGetsAThreadOfItsOwn) {
  engine_.known_threads.insert("old");
  engine_.transcript = "old";
  engine_.refuse =
      Error{.code = Code::kConflict, .message = "gone on"}.with("reason", std::string(agent::kMovedOn));
  ASSERT_TRUE(chat(
      R"({"model": "chela", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
    {"role": "user", "content": "c"}]})"));
  ASSERT_EQ(engine_.sent.size(), 1u);
  EXPECT_EQ(engine_.sent[0].thread_id, "thread-1");
  EXPECT_EQ(engine_.sent[0].history.size(), 2u);
  EXPECT_FALSE(engine_.sent[0].continues);
  EXPECT_EQ((*reply_headers_)["X-Chela-Thread"], "thread-1");
  // Any other conflict is told.
  engine_.refuse = Error{.code = Code::kConflict, .message = "no"};
  EXPECT_EQ(chat(R"({"model": "chela", "messages": [{"role": "user", "content": "x"}]})").error().code,
            Code::kConflict);
}

TEST_F(OpenAiChat, EveryParameterReachesTheAgent) {
  ASSERT_TRUE(chat(R"({"model": "chela", "messages": [{"role": "user", "content": "x"}],
    "temperature": 0.5, "top_p": 0.25, "presence_penalty": 1, "frequency_penalty": -1, "max_tokens": 5, "max_completion_tokens": 9, "seed": 3,
    "stop": "END", "response_format": {"type": "json_object"}, "reasoning_effort": "low", "parallel_tool_calls": false,
    "tools": [{"type": "function", "function": {"name": "mine"}}],
    "tool_choice": {"type": "function", "function": {"name": "mine"}}, "n": 1, "logprobs": false, "top_logprobs": 0, "logit_bias": {},
    "modalities": ["text"], "user": "somebody", "future_field": [1]})"));
  const agent::Inbound& in = engine_.sent.at(0);
  const llm::Sampling expected{.temperature = 0.5,
                               .top_p = 0.25,
                               .presence_penalty = 1.0,
                               .frequency_penalty = -1.0,
                               .max_tokens = 9,
                               .seed = 3,
                               .stop = {"END"},
                               .response_format = parsed(R"({"type": "json_object"})"),
                               .reasoning_effort = "low",
                               .parallel_tool_calls = false};
  EXPECT_EQ(in.sampling, expected);
  EXPECT_EQ(in.tool_choice_name, "mine");
  ASSERT_TRUE(
      chat(R"({"model": "chela", "messages": [{"role": "user", "content": "x"}], "tool_choice": "none"})"));
  EXPECT_EQ(engine_.sent.at(1).tool_choice, llm::ToolChoice::kNone);
}

class OpenAiRefused : public OpenAiChat,
                      public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(OpenAiRefused, WhatAnAgentCannotDoNamesItsField) {
  const auto& [field, value] = GetParam();
  const auto body = [&](std::string_view model) {
    return fmt::format(R"({{"model": "{}", "messages": [{{"role": "user", "content": "x"}}], "{}": {}}})",
                       model, field, value);
  };
  const auto answer = chat(body("chela"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kInvalidArgument);
  EXPECT_EQ(answer.error().detail("param"), field);
  EXPECT_TRUE(engine_.sent.empty());
  if (std::string_view(field) == "n") return;
  ASSERT_TRUE(chat(body("gpt-x")));
  EXPECT_NE(provider_.asked.at(0).extra.find(field), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, OpenAiRefused,
    ::testing::Values(std::pair{"n", "2"}, std::pair{"logprobs", "true"}, std::pair{"top_logprobs", "3"},
                      std::pair{"logit_bias", R"({"50256": -100})"},
                      std::pair{"modalities", R"(["text", "audio"])"},
                      std::pair{"audio", R"({"voice": "alloy"})"},
                      std::pair{"prediction", R"({"type": "content"})"},
                      std::pair{"web_search_options", R"({"search_context_size": "low"})"},
                      std::pair{"functions", R"([{"name": "f"}])"}, std::pair{"function_call", R"("auto")"}));

TEST_F(OpenAiChat, APendingApprovalIsSaidAndNeverWaitedFor) {
  const agent::PendingApproval approval{"r1",         "thread-1",      "turn-1",
                                        "write_file", "writes a file", parsed(R"({"path": "a"})")};
  engine_.script.push_back(
      {.outcome = {.state = TurnState::kAwaitingApproval, .visible = "May I?", .approval = approval}});
  const auto answer = chat(R"({"model": "chela", "messages": [{"role": "user", "content": "write"}]})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(content(*answer), "May I?");
  EXPECT_EQ(finish(*answer), "stop");
  EXPECT_EQ(answer->find("approval")->string_or("request_id"), "r1");
  EXPECT_EQ(engine_.waited_through_approvals, 0);
  ASSERT_TRUE(chat(R"({"model": "chela", "messages": [{"role": "user", "content": "write"}]})",
                   {{"x-chela-approvals", "wait"}}));
  EXPECT_EQ(engine_.waited_through_approvals, 1);
}

FakeEngine::Turn streamed() {
  return {.events = {{"stream_chunk", parsed(R"({"content": "I look"})")},
                     {"usage", parsed("{}")},
                     {"tool_started", parsed(R"({"name": "time"})")},
                     {"stream_chunk", parsed(R"({"content": "It is "})")},
                     {"stream_chunk", parsed(R"({"content": "ten."})")}},
          .outcome = {.state = TurnState::kCompleted,
                      .reply = "It is ten.",
                      .visible = "I look\n\nIt is ten.",
                      .usage = {5, 3, 0}}};
}

TEST_F(OpenAiChat, AStreamIsTheSameTextInPieces) {
  engine_.script.push_back(streamed());
  ASSERT_TRUE(chat(R"({"model": "chela", "stream": true, "stream_options": {"include_usage": true},
    "messages": [{"role": "user", "content": "time?"}]})"));
  EXPECT_EQ(sink_.text(), "I look\n\nIt is ten.");
  const std::vector<json::Value> chunks = sink_.chunks();
  EXPECT_EQ(chunks.front().find("choices")->as_array()->at(0).find("delta")->string_or("role"), "assistant");
  EXPECT_EQ(chunks.at(chunks.size() - 2).find("choices")->as_array()->at(0).string_or("finish_reason"),
            "stop");
  EXPECT_TRUE(chunks.back().find("choices")->as_array()->empty());
  EXPECT_EQ(chunks.back().find("usage")->int_or("completion_tokens", 0), 3);
  EXPECT_EQ(sink_.events.back().data, "[DONE]");
}

TEST_F(OpenAiChat, WithoutAFreePlaceTheTextComesAtTheEnd) {
  engine_.max_subscribers = 0;
  engine_.script.push_back(streamed());
  ASSERT_TRUE(
      chat(R"({"model": "chela", "stream": true, "messages": [{"role": "user", "content": "time?"}]})"));
  EXPECT_EQ(sink_.text(), "I look\n\nIt is ten.");
}

TEST_F(OpenAiChat, TextThatWasLostIsSentAtTheEnd) {
  engine_.script.push_back(
      {.events = {{"stream_chunk", parsed(R"({"content": "on"})")},
                  {"stream_reset", parsed(R"({"text": "one"})")}},
       .outcome = {.state = TurnState::kCompleted, .reply = "one two", .visible = "one two"}});
  ASSERT_TRUE(chat(R"({"model": "chela", "stream": true, "messages": [{"role": "user", "content": "x"}]})"));
  EXPECT_EQ(sink_.text(), "one two");
}

TEST_F(OpenAiChat, AClientThatLeavesEndsItsTurn) {
  engine_.script.push_back({.end = FakeEngine::Turn::End::kWhenReleased});
  loop_.call_at(loop_.clock().steady() + 1s, [this] { stop_.request_stop(); });
  EXPECT_FALSE(chat(R"({"model": "chela", "messages": [{"role": "user", "content": "x"}]})"));
  EXPECT_EQ(engine_.interrupted, (std::vector<std::string>{"thread-1"}));
}

// With a key it may ask again for the answer.
TEST_F(OpenAiChat, AClientThatMayComeBackDoesNotEndItsTurn) {
  engine_.script.push_back({.end = FakeEngine::Turn::End::kWhenReleased});
  loop_.call_at(loop_.clock().steady() + 1s, [this] { stop_.request_stop(); });
  EXPECT_FALSE(chat(R"({"model": "chela", "messages": [{"role": "user", "content": "x"}]})",
                    {{"idempotency-key", "k"}}));
  EXPECT_EQ(engine_.interrupted, std::vector<std::string>{});
  EXPECT_EQ(engine_.sent.at(0).reach, agent::Inbound::Reach::kThreadsOfAgent);
}

TEST_F(OpenAiChat, UnknownAgentsAreUnknownModels) {
  const auto answer = chat(R"({"model": "chela/nobody", "messages": [{"role": "user", "content": "x"}]})");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_EQ(answer.error().detail("code"), "model_not_found");
}

TEST_F(OpenAiChat, OtherModelsAreAskedDirectly) {
  const auto answer =
      chat(R"({"model": "gpt-x", "messages": [{"role": "user", "content": "hi"}], "logprobs": true})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(provider_.asked.at(0).model, "gpt-x");
  EXPECT_NE(provider_.asked.at(0).extra.find("logprobs"), nullptr);
  EXPECT_EQ(content(*answer), "Hello");
  EXPECT_EQ(answer->string_or("model"), "m-1");
  EXPECT_TRUE(engine_.sent.empty());

  provider_.pieces = {"He", "llo"};
  ASSERT_TRUE(chat(R"({"model": "gpt-x", "stream": true, "messages": [{"role": "user", "content": "hi"}]})"));
  EXPECT_EQ(sink_.text(), "Hello");
}

TEST_F(OpenAiChat, AStreamThatCannotBeTakenBackEndsWithAnErrorInsteadOfBeginningAnew) {
  provider_.answer = llm::Answer{.text = "Good day", .finish_reason = llm::FinishReason::kStop};
  provider_.pieces = {"Hel", "Good day"};
  provider_.reset_before = 1;
  constexpr auto kAsk =
      R"({{"model": "gpt-x", "stream": {}, "messages": [{{"role": "user", "content": "hi"}}]}})";
  const auto cut = chat(fmt::format(kAsk, true));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message, "the answer was cut");
  EXPECT_EQ(sink_.text(), "Hel");
  // Before the first word nothing has to be taken back, nor where nobody watches.
  sink_.events.clear();
  provider_.reset_before = 0;
  provider_.pieces = {"Good ", "day"};
  ASSERT_TRUE(chat(fmt::format(kAsk, true)));
  EXPECT_EQ(sink_.text(), "Good day");
  provider_.reset_before = 1;
  EXPECT_EQ(content(*chat(fmt::format(kAsk, false))), "Good day");
}

struct Upstream {
  Code from;
  int status;
  const char* code;
};

class OpenAiUpstream : public OpenAiChat, public ::testing::WithParamInterface<Upstream> {};

TEST_P(OpenAiUpstream, FailuresAreTranslated) {
  const Error failure{.code = GetParam().from, .message = "no"};
  for (const char* model : {"gpt-x", "chela"}) {
    provider_.answer = fail(failure);
    engine_.script.push_back(
        {.outcome = {.state = TurnState::kFailed, .reply = {}, .visible = {}, .error = failure}});
    const auto answer =
        chat(fmt::format(R"({{"model": "{}", "messages": [{{"role": "user", "content": "x"}}]}})", model));
    ASSERT_FALSE(answer);
    EXPECT_EQ(http_status(answer.error().code), GetParam().status);
    EXPECT_EQ(answer.error().detail("code"), GetParam().code);
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, OpenAiUpstream,
                         ::testing::Values(Upstream{Code::kInvalidArgument, 400, ""},
                                           Upstream{Code::kUnauthenticated, 502, "upstream_auth"},
                                           Upstream{Code::kPermissionDenied, 502, "upstream_auth"},
                                           Upstream{Code::kNotFound, 404, "model_not_found"},
                                           Upstream{Code::kRateLimited, 429, ""},
                                           Upstream{Code::kUpstream, 502, ""},
                                           Upstream{Code::kUnavailable, 503, ""},
                                           Upstream{Code::kTimeout, 504, ""}));

TEST_F(OpenAiChat, ModelsAreAgentsThenTheProviders) {
  const auto list = call("openai::models", "{}");
  ASSERT_TRUE(list);
  std::vector<std::string> ids;
  for (const json::Value& each : *list->find("data")->as_array()) ids.push_back(each.string_or("id"));
  EXPECT_EQ(ids, (std::vector<std::string>{"chela", "chela/default", "chela/writer", "m-1", "m-2"}));
  EXPECT_TRUE(call("openai::model", R"({"id": "m-2"})"));
  EXPECT_EQ(call("openai::model", R"({"id": "m-9"})").error().detail("code"), "model_not_found");
}

TEST_F(OpenAiChat, CallsOfAModelThatNamesNoneHaveIds) {
  provider_.answer = llm::Answer{.tool_calls = {{"", "f", "{}"}, {"", "f", "{}"}}};
  const auto answer = chat(R"({"model": "gpt-x", "messages": [{"role": "user", "content": "x"}]})");
  ASSERT_TRUE(answer) << answer.error().text();
  const json::Value& message = *answer->find("choices")->as_array()->at(0).find("message");
  const json::Array& calls = *message.find("tool_calls")->as_array();
  EXPECT_TRUE(calls.at(0).string_or("id").starts_with("call_"));
  EXPECT_NE(calls.at(0).string_or("id"), calls.at(1).string_or("id"));
}

}  // namespace
}  // namespace chela::api
