#include "llm/cache/cache_provider.h"

#include <gtest/gtest.h>

#include "llm/cache/limits.h"
#include "runtime/task_group.h"
#include "store/sqlite/database.h"
#include "testing/manual_loop.h"

namespace chela::llm::cache {
namespace {

// Counts its calls in what it says.
class Upstream final : public Provider {
 public:
  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime>,
                                std::stop_token) override {
    ++calls;
    if (error) co_return fail(*error);
    if (taken_over && request.caller.chosen) request.caller.chosen(json::Value::object({{"model", "other"}}));
    Answer given = answer;
    if (given.text.empty()) given.text = fmt::format("answer {}", calls);
    if (sink) sink({.text = given.text});
    co_return given;
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"m"};
  }

  int calls = 0;
  Answer answer{
      .usage = {.input_tokens = 7}, .finish_reason = FinishReason::kStop, .model = "m-1", .provider = "p"};
  std::optional<Error> error;
  bool taken_over = false;  // by another model
};

class Cache : public ::testing::Test {
 protected:
  void TearDown() override { runtime::block_on(loop, cache.stop()); }

  static Request asking(std::string_view text, std::string_view user = "ann") {
    Request request{.model = "m", .messages = {{.content = std::string(text)}}};
    request.caller.scope = {.realm = "r", .user = std::string(user)};
    return request;
  }
  std::string ask(Request request) {
    streamed.clear();
    deltas = 0;
    request.caller.chosen = [this](const json::Value& choice) { chosen = choice; };
    const Result<Answer> answer = runtime::block_on(loop, front.complete(std::move(request),
                                                                         [this](const Delta& delta) {
                                                                           streamed += delta.text;
                                                                           ++deltas;
                                                                         },
                                                                         std::nullopt, {}));
    runtime::block_on(loop, cache.stop());  // what is written behind is there
    last = answer ? *answer : Answer{};
    return answer ? answer->text : "error";
  }

  testing::ManualLoop loop;
  obs::Metrics metrics;
  std::unique_ptr<store::sqlite::Database> db = *store::sqlite::Database::open_in_memory(loop);
  CacheRules rules{.enabled = true};
  std::string provider = "p";
  ResponseCache cache{{.loop = loop,
                       .store = db->response_cache(),
                       .metrics = metrics,
                       .rules = [this] { return rules; },
                       .provider = [this](std::string_view) { return provider; }}};
  Upstream inner;
  CacheProvider front{inner, cache};
  json::Value chosen;
  std::string streamed;
  int deltas = 0;
  Answer last;
};

TEST_F(Cache, WhatAnotherModelAnsweredIsNotKeptAsThisOnes) {
  inner.taken_over = true;
  EXPECT_EQ(ask(asking("q")), "answer 1");
  inner.taken_over = false;
  EXPECT_EQ(ask(asking("q")), "answer 2");
  EXPECT_EQ(ask(asking("q")), "answer 2");
}

TEST_F(Cache, TheSameIsAnsweredOnceAndCostsNothingAgain) {
  EXPECT_EQ(ask(asking("hello")), "answer 1");
  EXPECT_TRUE(chosen.is_null());
  loop.advance(std::chrono::seconds(5));
  EXPECT_EQ(ask(asking("hello")), "answer 1");
  EXPECT_EQ(inner.calls, 1);
  EXPECT_EQ(streamed, "answer 1");
  EXPECT_EQ(deltas, 1);
  EXPECT_EQ(last.usage.input_tokens, 0);
  EXPECT_EQ(last.model, "m-1");
  EXPECT_EQ(last.provider, "p");
  EXPECT_EQ(last.finish_reason, FinishReason::kStop);
  EXPECT_TRUE(chosen.bool_or("cached", false));
  EXPECT_EQ(chosen.string_or("reason"), "the same was answered 5 s ago");
  const std::string shown = metrics.render();
  EXPECT_NE(shown.find("chela_response_cache_total{found=\"hit\"} 1"), std::string::npos) << shown;
  EXPECT_NE(shown.find("chela_response_cache_total{found=\"miss\"} 1"), std::string::npos);
}

TEST_F(Cache, WhateverChangesTheAnswerIsAnotherRequest) {
  ask(asking("hello"));
  Request warm = asking("hello");
  warm.sampling.temperature = 0.5;
  EXPECT_EQ(ask(warm), "answer 2");
  Request foreign = asking("hello");
  foreign.extra.set("logprobs", true);
  EXPECT_EQ(ask(foreign), "answer 3");
  Request seen = asking("hello");
  seen.messages[0].images = {
      {.media_type = "image/png", .hash = "a", .bytes = std::make_shared<std::string>("x")}};
  EXPECT_EQ(ask(seen), "answer 4");
  EXPECT_EQ(ask(seen), "answer 4");
  seen.messages[0].images[0].hash = "b";
  EXPECT_EQ(ask(seen), "answer 5");
  provider = "another";
  EXPECT_EQ(ask(asking("hello")), "answer 6");
}

TEST_F(Cache, NobodyIsGivenWhatAnotherUserAsked) {
  ask(asking("hello", "ann"));
  EXPECT_EQ(ask(asking("hello", "bob")), "answer 2");
  Request elsewhere = asking("hello", "ann");
  elsewhere.caller.scope.realm = "r2";
  EXPECT_EQ(ask(elsewhere), "answer 3");
  EXPECT_EQ(ask(asking("hello", "bob")), "answer 2");
}

TEST_F(Cache, AgeAndNumberAreLimited) {
  rules = {.enabled = true, .ttl = std::chrono::seconds(10), .max_entries = 2};
  ask(asking("a"));
  loop.advance(std::chrono::seconds(10));
  EXPECT_EQ(ask(asking("a")), "answer 1");
  loop.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(ask(asking("a")), "answer 2");
  loop.advance(std::chrono::milliseconds(1));
  ask(asking("b"));
  loop.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(ask(asking("a")), "answer 2");
  ask(asking("c"));
  EXPECT_EQ(ask(asking("a")), "answer 2") << "b was of no use for longer";
  EXPECT_EQ(ask(asking("b")), "answer 5");
}

TEST_F(Cache, WhatMayNotBeKeptIsAskedEachTime) {
  Request tools = asking("hello");
  tools.tools = {{.name = "t", .description = "", .parameters = json::Value::object()}};
  ask(tools);
  EXPECT_EQ(ask(tools), "answer 2");
  Request foreign = asking("hello");
  foreign.extra.set("tools", json::Value::array());
  ask(foreign);
  EXPECT_EQ(ask(foreign), "answer 4");
  rules.enabled = false;
  ask(asking("off"));
  EXPECT_EQ(ask(asking("off")), "answer 6");
  rules.enabled = true;
  const auto never = [this](Answer answer) {
    inner.answer = std::move(answer);
    const int before = inner.calls;
    ask(asking("never"));
    ask(asking("never"));
    EXPECT_EQ(inner.calls, before + 2);
  };
  never({.text = "cut", .finish_reason = FinishReason::kLength});
  never({.text = "filtered", .finish_reason = FinishReason::kContentFilter});
  never({.text = "who knows", .finish_reason = FinishReason::kUnknown});
  never({.text = "calls", .tool_calls = {{.name = "t"}}, .finish_reason = FinishReason::kStop});
  never({.text = "signed", .finish_reason = FinishReason::kStop, .provider_data = "{}"});
  never({.text = std::string(kMaxCachedAnswerBytes, 'x'), .finish_reason = FinishReason::kStop});
  inner.error = Error{.code = Code::kUpstream, .message = "no"};
  never({});
}

TEST_F(Cache, WhatIsKeptAndCannotBeReadIsAskedAnew) {
  const std::string key = *cache.key_of(asking("hello"));
  ASSERT_TRUE(runtime::block_on(loop, db->response_cache().put({.realm = "r", .user = "ann"}, key, "nonsense",
                                                               loop.clock().now(), {.max_entries = 9})));
  EXPECT_EQ(ask(asking("hello")), "answer 1");
  EXPECT_EQ(ask(asking("hello")), "answer 1");
}

}  // namespace
}  // namespace chela::llm::cache
