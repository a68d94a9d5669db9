#include "llm/backends/fail_over.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "llm/limits.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"
#include "testing/played_provider.h"

namespace chela::llm {
namespace {

using testing::Play;
using testing::PlayedProvider;

constexpr int kThreshold = 3;
constexpr auto kCooldown = 300s;

Play failing(Code code) { return {.error = Error{.code = code, .message = "no"}}; }
Play cut_after(std::string text) {
  return {.deltas = {{.text = std::move(text)}}, .error = Error{.code = Code::kUpstream, .message = "cut"}};
}
Play saying(std::string text) { return {.deltas = {{.text = std::move(text)}}}; }

// Names are "provider/model"; the models of "b" have other names there.
class Providers final : public Provider {
 public:
  explicit Providers(runtime::EventLoop& loop) : loop_(loop) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override {
    asked.push_back(request.model);
    return of(request.model).complete(std::move(request), std::move(sink), deadline, stop);
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{};
  }
  PlayedProvider& of(const std::string& model) {
    std::unique_ptr<PlayedProvider>& found = models_[model];
    if (!found) found = std::make_unique<PlayedProvider>(loop_);
    return *found;
  }

  std::vector<std::string> asked;

 private:
  runtime::EventLoop& loop_;
  std::map<std::string, std::unique_ptr<PlayedProvider>> models_;
};

class FailOverTest : public ::testing::Test {
 protected:
  FailOverTest() { fall_back_to({"b/m", "c/m"}); }

  void fall_back_to(std::vector<std::string> models) {
    front.configure({.models = std::move(models), .threshold = kThreshold, .cooldown = kCooldown});
  }

  Result<Answer> ask(std::string model = "a/m", std::stop_token stop = {},
                     std::optional<SteadyTime> deadline = std::nullopt) {
    providers.asked.clear();
    told.clear();
    shown.clear();
    Request request{.model = std::move(model), .messages = {{.content = "hi"}}};
    if (shape) shape(request);
    request.caller.chosen = [this](const json::Value& choice) { told.push_back(json::write(choice)); };
    return runtime::block_on(loop, front.complete(
                                       std::move(request),
                                       [this](const Delta& delta) {
                                         if (delta.reset) shown += "|";
                                         if (delta.reset && on_reset) on_reset();
                                         if (!delta.reasoning.empty()) shown += "(" + delta.reasoning + ")";
                                         shown += delta.text;
                                       },
                                       deadline, stop));
  }

  FailOver::Target target(const std::string& model) const {
    const size_t slash = model.find('/');
    const std::string provider = model.substr(0, slash);
    return {.provider = provider,
            .sent_as = model.substr(slash + 1),
            .usable = provider != "keyless",
            .goes_on = provider == goes_on};
  }

  testing::ManualLoop loop;
  Providers providers{loop};
  FailOver front{providers, [this](const std::string& model) { return target(model); }, loop};
  std::string goes_on = "none";
  std::function<void(Request&)> shape;
  std::function<void()> on_reset;
  std::vector<std::string> told;
  std::string shown;  // what a client has seen; "|" where it had to forget what was before
};

using Names = std::vector<std::string>;

TEST_F(FailOverTest, TheNextModelIsAskedByItsOwnNameAndTheCallerIsToldWhy) {
  providers.of("a/m").plays = {failing(Code::kRateLimited)};
  providers.of("b/m").plays = {failing(Code::kUnauthenticated)};
  providers.of("c/m").plays = {saying("hello")};
  const Result<Answer> answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "hello");
  EXPECT_EQ(providers.asked, (Names{"a/m", "b/m", "c/m"}));
  EXPECT_EQ(shown, "hello");
  EXPECT_EQ(told, (Names{R"({"provider":"b","model":"b/m","reason":"a/m failed: rate_limited"})",
                         R"({"provider":"c","model":"c/m","reason":"b/m failed: unauthenticated"})"}));
}

TEST_F(FailOverTest, WithoutOthersTheCallPassesThrough) {
  fall_back_to({});
  providers.of("a/m").plays = {failing(Code::kUpstream)};
  EXPECT_EQ(ask().error().code, Code::kUpstream);
  EXPECT_EQ(providers.asked, (Names{"a/m"}));
  EXPECT_EQ(front.remembered(), 0u);
}

TEST_F(FailOverTest, AModelIsAskedOnceAndOneWithoutAKeyNotAtAll) {
  fall_back_to({"keyless/m", "a/m", "b/m", "b/m"});
  providers.of("a/m").plays = {failing(Code::kUpstream)};
  providers.of("b/m").plays = {failing(Code::kNotFound)};
  const Result<Answer> answer = ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_EQ(answer.error().detail("tried"), "a/m: upstream, b/m: not_found");
  EXPECT_EQ(providers.asked, (Names{"a/m", "b/m"}));
}

TEST_F(FailOverTest, WhatFailsAgainAndAgainIsPassedOverForAWhile) {
  providers.of("a/m").plays = {failing(Code::kUpstream)};
  for (int n = 0; n < kThreshold; ++n) {
    EXPECT_TRUE(ask());
    EXPECT_EQ(providers.asked, (Names{"a/m", "b/m"}));
  }
  loop.advance(kCooldown - 1s);
  EXPECT_TRUE(ask());
  EXPECT_EQ(providers.asked, (Names{"b/m"}));
  EXPECT_EQ(
      told,
      (Names{
          R"({"provider":"b","model":"b/m","reason":"a/m keeps failing and is passed over for 1 s more"})"}));
  loop.advance(1s);
  EXPECT_TRUE(ask());
  EXPECT_EQ(providers.asked, (Names{"a/m", "b/m"})) << "its time is over";
  EXPECT_TRUE(ask());
  EXPECT_EQ(providers.asked, (Names{"b/m"})) << "one more failure is enough then";
  loop.advance(kCooldown);
  providers.of("a/m").plays = {saying("back")};
  EXPECT_EQ(ask()->text, "back");
  providers.of("a/m").plays = {failing(Code::kUpstream)};
  EXPECT_TRUE(ask());
  EXPECT_TRUE(ask());
  EXPECT_EQ(providers.asked, (Names{"a/m", "b/m"})) << "a success begins the count anew";
}

TEST_F(FailOverTest, WhenAllArePassedOverTheOneThatHasWaitedLongestIsAsked) {
  for (const char* each : {"a/m", "b/m", "c/m"}) providers.of(each).plays = {failing(Code::kUpstream)};
  // b fails for itself first, then c, then a.
  const auto exhaust = [this](const char* model) {
    fall_back_to({model});
    for (int n = 0; n < kThreshold; ++n) EXPECT_FALSE(ask(model));
    loop.advance(1s);
  };
  exhaust("b/m");
  exhaust("c/m");
  exhaust("a/m");
  fall_back_to({"b/m", "c/m"});
  EXPECT_FALSE(ask());
  EXPECT_EQ(providers.asked, (Names{"b/m"}));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("not been asked for longest"), std::string::npos) << told[0];
  EXPECT_FALSE(ask());
  EXPECT_EQ(providers.asked, (Names{"c/m"}));
  providers.of("a/m").plays = {saying("back")};
  EXPECT_EQ(ask()->text, "back");
}

TEST_F(FailOverTest, ARequestThatIsWrongIsWrongEverywhere) {
  for (const Code code : {Code::kInvalidArgument, Code::kTooLarge, Code::kBudgetExceeded, Code::kCancelled}) {
    providers.of("a/m").plays = {failing(code)};
    for (int n = 0; n <= kThreshold; ++n) {
      EXPECT_EQ(ask().error().code, code);
      EXPECT_EQ(providers.asked, (Names{"a/m"})) << code_name(code);
    }
  }
  EXPECT_EQ(front.remembered(), 0u);
}

TEST_F(FailOverTest, AStandInThatCannotTakeTheRequestIsPassedOver) {
  providers.of("a/m").plays = {failing(Code::kUnavailable)};
  providers.of("b/m").plays = {failing(Code::kInvalidArgument)};
  providers.of("c/m").plays = {saying("whole")};
  EXPECT_EQ(ask()->text, "whole");
  providers.of("c/m").plays = {failing(Code::kUnsupported)};
  EXPECT_EQ(ask().error().code, Code::kUnavailable) << "what the wanted one failed with";
  EXPECT_EQ(providers.asked, (Names{"a/m", "b/m", "c/m"}));
}

TEST_F(FailOverTest, WhatOnlyOneRequestMeetsKeepsNoModelFromOthers) {
  providers.of("b/m").plays = {saying("b")};
  Error open{.code = Code::kUnavailable, .message = "open"};
  open.with("reason", "circuit_open");
  for (const Error& error : {Error{.code = Code::kNotFound, .message = "no such model"},
                             Error{.code = Code::kPermissionDenied, .message = "flagged"}, open}) {
    providers.of("a/m").plays = {{.error = error}};
    for (int n = 0; n <= kThreshold; ++n) EXPECT_EQ(ask()->text, "b");
    EXPECT_EQ(providers.asked, (Names{"a/m", "b/m"})) << error.message;
  }
  EXPECT_EQ(front.remembered(), 0u);
}

TEST_F(FailOverTest, ACallThatBeganInAPromptedModelsTextIsNotGoneOnFrom) {
  goes_on = "b";
  providers.of("a/m").plays = {cut_after("Now: \u25c1{\"name\":\"rm\"")};
  providers.of("b/m").plays = {saying("whole")};
  EXPECT_EQ(ask()->text, "whole");
  EXPECT_TRUE(shown.ends_with("|whole")) << shown;
}

TEST_F(FailOverTest, NobodyIsAskedPastTheDeadlineOrAfterAStop) {
  providers.of("a/m").plays = {{.error = Error{.code = Code::kTimeout, .message = "late"}, .takes = 2s}};
  EXPECT_EQ(ask("a/m", {}, loop.clock().steady() + 2s).error().code, Code::kTimeout);
  EXPECT_EQ(providers.asked, (Names{"a/m"}));
  std::stop_source stop;
  stop.request_stop();
  providers.of("a/m").plays = {failing(Code::kUpstream)};
  EXPECT_FALSE(ask("a/m", stop.get_token()));
  EXPECT_EQ(providers.asked, (Names{"a/m"}));
}

TEST_F(FailOverTest, AfterTextAnswerThatCannotBeContinuedBeginsAnew) {
  providers.of("a/m").plays = {cut_after("Hel")};
  providers.of("b/m").plays = {saying("Good day")};
  const Result<Answer> answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "Good day");
  EXPECT_EQ(shown, "Hel|Good day");
  EXPECT_EQ(providers.of("b/m").requests[0].messages.size(), 1u);
}

TEST_F(FailOverTest, AfterTextAProviderThatCanGoesOnFromIt) {
  goes_on = "b";
  providers.of("a/m").plays = {cut_after("Once upon  ")};
  providers.of("b/m").plays = {{.deltas = {{.text = " a "}, {.text = "time"}},
                                .answer = {.usage = {.input_tokens = 7, .output_tokens = 2}}}};
  const Result<Answer> answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "Once upon  a time") << "the space at the seam is there once";
  EXPECT_EQ(shown, "Once upon  a time");
  EXPECT_EQ(answer->usage.input_tokens, 7);
  EXPECT_GT(answer->usage.output_tokens, 2) << "what the first one wrote counts";
  const Request& asked = providers.of("b/m").requests[0];
  ASSERT_EQ(asked.messages.size(), 2u);
  EXPECT_EQ(asked.messages[1].role, Role::kAssistant);
  EXPECT_EQ(asked.messages[1].content, "Once upon");
}

TEST_F(FailOverTest, AnAnswerThatIsCutTwiceIsStillWhole) {
  goes_on = "b";
  fall_back_to({"b/m", "b/n", "c/m"});
  providers.of("a/m").plays = {cut_after("One ")};
  providers.of("b/m").plays = {cut_after("two ")};
  providers.of("b/n").plays = {saying("three")};
  const Result<Answer> answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "One two three");
  EXPECT_EQ(shown, "One two three");
  EXPECT_EQ(providers.of("b/n").requests[0].messages.back().content, "One two");
}

TEST_F(FailOverTest, ABeginningOfTheClientsIsGoneOnFromTogetherWithTheText) {
  goes_on = "b";
  shape = [](Request& request) {
    request.messages.push_back({.role = Role::kAssistant, .content = "Dear "});
  };
  providers.of("a/m").plays = {cut_after("Ada")};
  providers.of("b/m").plays = {saying(", hello")};
  EXPECT_EQ(ask()->text, "Ada, hello");
  EXPECT_EQ(providers.of("b/m").requests[0].messages.size(), 2u);
  EXPECT_EQ(providers.of("b/m").requests[0].messages[1].content, "Dear Ada");
}

TEST_F(FailOverTest, AProviderThatRefusesABeginningIsAskedForAWholeAnswer) {
  goes_on = "b";
  providers.of("a/m").plays = {cut_after("Hel")};
  providers.of("b/m").plays = {failing(Code::kInvalidArgument), saying("Good day")};
  const Result<Answer> answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "Good day");
  EXPECT_EQ(shown, "Hel|Good day");
  EXPECT_EQ(providers.asked, (Names{"a/m", "b/m", "b/m"}));
}

TEST_F(FailOverTest, ThoughtsCallsAndLongTextsAreNotGoneOnFrom) {
  goes_on = "b";
  const auto begins_anew = [this](Play play) {
    providers.of("a/m").plays = {std::move(play)};
    providers.of("b/m").plays = {saying("whole")};
    providers.of("b/m").requests.clear();
    loop.advance(kCooldown);
    const Result<Answer> answer = ask();
    return answer && answer->text == "whole" && shown.ends_with("|whole") &&
           providers.of("b/m").requests[0].messages.back().role == Role::kUser;
  };
  EXPECT_FALSE(begins_anew(cut_after("text")));
  EXPECT_FALSE(begins_anew(cut_after(std::string(kMaxTakenOverBytes, 'x'))));
  EXPECT_TRUE(begins_anew(cut_after(std::string(kMaxTakenOverBytes + 1, 'x'))));
  EXPECT_TRUE(begins_anew(cut_after(" \n")));
  EXPECT_TRUE(begins_anew({.deltas = {{.reasoning = "hm"}, {.text = "text"}},
                           .error = Error{.code = Code::kUpstream, .message = "cut"}}));
  Play calling = cut_after("text");
  calling.error->with("called", "1");
  EXPECT_TRUE(begins_anew(std::move(calling)));
  EXPECT_FALSE(begins_anew(cut_after("see `ls`")));
  shape = [](Request& request) { request.caller.thread = "t"; };
  EXPECT_TRUE(begins_anew(cut_after("see <tool_call>{"))) << "an agent's model may write calls as text";
  EXPECT_FALSE(begins_anew(cut_after("text")));
  shape = [](Request& request) { request.sampling.reasoning_effort = "high"; };
  EXPECT_TRUE(begins_anew(cut_after("text")));
  shape = [](Request& request) { request.sampling.response_format = json::Value::object(); };
  EXPECT_TRUE(begins_anew(cut_after("text")));
}

TEST_F(FailOverTest, WhoCannotTakeTextBackStopsTheCallAndGetsTheError) {
  std::stop_source stop;
  on_reset = [&stop] { stop.request_stop(); };
  providers.of("a/m").plays = {cut_after("Hel")};
  const Result<Answer> answer = ask("a/m", stop.get_token());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "cut");
  EXPECT_EQ(answer.error().detail("streamed"), "1");
  EXPECT_EQ(providers.asked, (Names{"a/m"})) << "nobody pays for an answer that cannot be shown";
  // The same where the next one has refused the beginning.
  stop = {};
  goes_on = "b";
  providers.of("b/m").plays = {failing(Code::kInvalidArgument)};
  EXPECT_EQ(ask("a/m", stop.get_token()).error().message, "cut");
  EXPECT_EQ(providers.asked, (Names{"a/m", "b/m"}));
}

TEST_F(FailOverTest, SoManyFailingModelsAreRemembered) {
  fall_back_to({"b/m"});
  for (size_t n = 0; n < kMaxCooledModels + 5; ++n) {
    const std::string name = fmt::format("a/{}", n);
    providers.of(name).plays = {failing(Code::kUpstream)};
    EXPECT_TRUE(ask(name));
    loop.advance(1ms);
  }
  EXPECT_EQ(front.remembered(), kMaxCooledModels);
}

}  // namespace
}  // namespace chela::llm
