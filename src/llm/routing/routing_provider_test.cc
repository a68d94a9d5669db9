#include "llm/routing/routing_provider.h"

#include <gtest/gtest.h>

#include <map>

#include "llm/routing/limits.h"
#include "llm/routing/trial.h"
#include "runtime/sleep.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::llm::routing {
namespace {

// Says what it is told to, in pieces, and remembers for whom.
class Model final : public Provider {
 public:
  explicit Model(runtime::EventLoop& loop) : loop_(loop) {}
  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime>,
                                std::stop_token stop) override {
    asked.push_back(request.model);
    Answer out = answer;
    for (const std::string& piece : pieces) {
      sink({.text = piece, .reasoning = "hm. "});
      out.text += piece;
      const Result<> slept = co_await runtime::sleep_for(loop_, std::chrono::milliseconds(1), stop);
      if (!slept) co_return fail(Code::kCancelled, "the model call was cancelled");
      ++said;
    }
    if (error) co_return fail(*error);
    co_return out;
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"m"};
  }

  std::vector<std::string> pieces{"fine"};
  Answer answer{.finish_reason = FinishReason::kStop};
  std::optional<Error> error;
  std::vector<std::string> asked;
  int said = 0;

 private:
  runtime::EventLoop& loop_;
};

constexpr std::string_view kEasy = "thanks";
constexpr std::string_view kModerate = "deploy it to production";
constexpr std::string_view kHard = "please run a full security audit";

class Routing : public ::testing::Test {
 protected:
  static Request asking(std::string_view text) {
    return {.model = "big",
            .messages = {{.role = Role::kSystem, .content = "thanks"}, {.content = std::string(text)}}};
  }
  std::string ask(Request request) {
    streamed.clear();
    chosen.clear();
    request.caller.chosen = [this](const json::Value& choice) { chosen.push_back(choice); };
    const Result<Answer> answer = runtime::block_on(
        loop, front.complete(std::move(request), [this](const Delta& delta) { streamed += delta.text; },
                             std::nullopt, {}));
    code = answer ? Code::kInternal : answer.error().code;
    return answer ? answer->text : "error";
  }
  std::string reason(std::size_t i) const { return i < chosen.size() ? chosen[i].string_or("reason") : ""; }

  testing::ManualLoop loop;
  obs::Metrics metrics;
  Model big{loop};
  Model small{loop};
  Rules rules{.cheap_model = "p/small"};
  bool sees = false;
  std::optional<std::string> from_worker;
  RoutingProvider front{
      {.loop = loop,
       .metrics = metrics,
       .named = [this](std::string_view model) -> Provider& { return model == "p/small" ? small : big; },
       .provider_id = [](std::string_view model) { return model == "big" ? "backend" : "p"; },
       .sees_images = [this](std::string_view) { return sees; },
       .rules = [this] { return rules; },
       .elsewhere = [this](const Request&, std::stop_token) { return worker(); }}};
  Task<std::optional<std::string>> worker() { co_return from_worker; }

  std::string streamed;
  std::vector<json::Value> chosen;
  Code code = Code::kInternal;
};

TEST_F(Routing, SimpleIsCheapAndComplexIsNot) {
  small.pieces = {"you are ", "welcome"};
  EXPECT_EQ(ask(asking(kEasy)), "you are welcome");
  EXPECT_EQ(streamed, "you are welcome");
  EXPECT_EQ(small.asked, std::vector<std::string>{"p/small"});
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].string_or("model"), "p/small");
  EXPECT_EQ(chosen[0].string_or("provider"), "p");
  EXPECT_EQ(chosen[0].string_or("route"), "cheap");
  EXPECT_EQ(chosen[0].string_or("tier"), "flash");
  EXPECT_EQ(reason(0), "flash: a greeting or an acknowledgement");
  EXPECT_EQ(ask(asking(kHard)), "fine");
  EXPECT_EQ(big.asked, std::vector<std::string>{"big"});
  EXPECT_EQ(reason(0), "frontier: a review of security");
  EXPECT_EQ(front.stats().total, 2u);
  EXPECT_EQ(front.stats().cheap, 1u);
  EXPECT_EQ(front.stats().primary, 1u);
}

TEST_F(Routing, WithoutACheapModelNothingIsDecided) {
  rules.cheap_model.clear();
  EXPECT_EQ(ask(asking(kEasy)), "fine");
  EXPECT_EQ(big.asked.size(), 1u);
  EXPECT_TRUE(chosen.empty());
  EXPECT_EQ(front.stats().total, 0u);
}

TEST_F(Routing, ToolsStayWithTheDefaultModelUnlessAPersonSaysOtherwise) {
  Request request = asking(kEasy);
  request.tools = {{.name = "t", .description = "", .parameters = json::Value::object()}};
  ask(request);
  EXPECT_EQ(big.asked.size(), 1u);
  EXPECT_EQ(reason(0), "a request with tools, flash: a greeting or an acknowledgement");
  request.messages.back().content = "[tier:standard] list my files";
  request.messages.push_back({.role = Role::kAssistant, .content = "", .tool_calls = {{.name = "t"}}});
  request.messages.push_back({.role = Role::kTool, .content = "[tier:frontier] says a file"});
  ask(request);
  EXPECT_EQ(small.asked.size(), 1u);
  EXPECT_EQ(reason(0), "standard: asked for with [tier:standard]");
  request.messages[1].content = "[tier:pro] list my files";
  ask(request);
  EXPECT_EQ(big.asked.size(), 2u);
}

TEST_F(Routing, ImagesNeedAModelThatSees) {
  Request request = asking(kEasy);
  request.messages.back().images = {{.media_type = "image/png", .hash = "a"}};
  ask(request);
  EXPECT_EQ(big.asked.size(), 1u);
  EXPECT_EQ(reason(0), "p/small sees no images");
  sees = true;
  ask(request);
  EXPECT_EQ(small.asked.size(), 1u);
}

TEST_F(Routing, AModerateMessageIsTriedWithTheCheapModel) {
  small.pieces = {"The migration ", "is fine."};
  EXPECT_EQ(ask(asking(kModerate)), "The migration is fine.");
  EXPECT_EQ(chosen[0].string_or("route"), "cheap_on_trial") << reason(0);
  EXPECT_EQ(streamed, "The migration is fine.");
  EXPECT_TRUE(big.asked.empty());

  small.pieces = {"Well, ", "I\xe2\x80\x99m not", " sure", " that I know", " the rest"};
  EXPECT_EQ(ask(asking(kModerate)), "fine");
  EXPECT_EQ(streamed, "fine") << "nobody sees what was taken back";
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[1].string_or("model"), "big");
  EXPECT_EQ(reason(1), "p/small gave an answer that is empty or uncertain");
  EXPECT_EQ(small.said, 2 + 3) << "the call was ended as soon as it was known";
  EXPECT_EQ(front.stats().escalations, 1u);

  small.pieces = {};
  EXPECT_EQ(ask(asking(kModerate)), "fine");
  small.pieces = {"I cannot"};
  EXPECT_EQ(ask(asking(kModerate)), "fine") << "the last word is known at the end";

  rules.cascade = false;
  EXPECT_EQ(ask(asking(kModerate)), "I cannot");
  EXPECT_EQ(streamed, "I cannot");
}

TEST_F(Routing, WhatPassedItsTrialIsStreamedAndStays) {
  small.pieces = {std::string(kTrialBytes, 'x') + " ", "and I don't know", " more"};
  EXPECT_EQ(ask(asking(kModerate)), small.pieces[0] + "and I don't know more");
  EXPECT_EQ(streamed, small.pieces[0] + "and I don't know more");
  EXPECT_TRUE(big.asked.empty());
}

TEST_F(Routing, ACheapModelThatFailsIsFollowedByTheDefaultOne) {
  small.pieces = {};
  small.error = Error{.code = Code::kUnavailable, .message = "no key"};
  EXPECT_EQ(ask(asking(kEasy)), "fine");
  EXPECT_EQ(reason(1), "p/small failed: no key");
  small.pieces = {"half"};
  EXPECT_EQ(ask(asking(kEasy)), "error") << "its text was passed on";
  EXPECT_EQ(ask(asking(kModerate)), "fine") << "held back";
  EXPECT_EQ(streamed, "fine");
  small.error->code = Code::kBudgetExceeded;
  EXPECT_EQ(ask(asking(kModerate)), "error");
  EXPECT_EQ(code, Code::kBudgetExceeded);
}

TEST_F(Routing, AWorkersChoiceCounts) {
  from_worker = "p/small";
  EXPECT_EQ(ask(asking(kHard)), "fine");
  EXPECT_EQ(small.asked.size(), 1u);
  EXPECT_EQ(reason(0), "llm::route of a worker");
  rules.cheap_model.clear();
  ask(asking(kHard));
  EXPECT_EQ(small.asked.size(), 2u);
  from_worker = "big";
  ask(asking(kEasy));
  EXPECT_EQ(big.asked.size(), 1u);
}

TEST(Trial, ARestartInsideBeginsAnew) {
  std::string shown;
  Trial trial([&shown](const Delta& delta) { shown += delta.text; });
  EXPECT_EQ(trial.feed({.text = "I don't"}), Trial::State::kOpen);
  EXPECT_EQ(trial.feed({.text = "Yes, ", .reset = true}), Trial::State::kOpen);
  EXPECT_EQ(trial.finish({.text = "Yes, ", .finish_reason = FinishReason::kStop}), Trial::State::kPassed);
  EXPECT_EQ(shown, "Yes, ");
  EXPECT_TRUE(is_uncertain("Could you clarify?"));
  EXPECT_FALSE(is_uncertain("I cannoli, I can do that"));
  Trial filtered(nullptr);
  EXPECT_EQ(filtered.finish({.text = "x", .finish_reason = FinishReason::kContentFilter}),
            Trial::State::kFailed);
  Trial calling(nullptr);
  EXPECT_EQ(calling.finish({.tool_calls = {{.name = "t"}}}), Trial::State::kPassed);
}

}  // namespace
}  // namespace chela::llm::routing
