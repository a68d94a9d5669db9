#include "app/wizard.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "base/limits.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::app {
namespace {

class ScriptedLines final : public cli::Lines {
 public:
  std::deque<std::string> lines;
  Task<Result<std::optional<std::string>>> next(std::stop_token) override {
    if (lines.empty()) co_return std::optional<std::string>();
    std::string line = lines.front();
    lines.pop_front();
    co_return line;
  }
};

class FakePorts final : public WizardPorts {
 public:
  std::optional<WizardState> state;
  std::map<std::string, std::string, std::less<>> config;
  std::map<std::string, std::string> vault;
  std::string typed_secret;
  Result<std::vector<std::string>> offered = std::vector<std::string>{"m-1", "m-2"};
  std::deque<Result<std::string>> replies;
  Result<> fetched;
  int tests = 0;

  Result<WizardState> load() override {
    if (!state) return fail(Code::kNotFound, "none");
    return *state;
  }
  Result<> save(WizardState now) override {
    state = now;
    return {};
  }
  Result<> set_config(std::string_view key, std::string_view value) override {
    config[std::string(key)] = value;
    return {};
  }
  Task<Result<crypto::Secret>> ask_secret(std::string) override {
    if (typed_secret.empty()) co_return fail(Code::kInvalidArgument, "no secret came");
    co_return crypto::Secret(typed_secret);
  }
  Task<Result<>> keep_secret(std::string name, crypto::Secret value) override {
    vault[name] = value.view();
    co_return Result<>{};
  }
  Task<Result<std::vector<std::string>>> models() override { co_return offered; }
  Task<Result<>> fetch_local_model() override { co_return fetched; }
  Task<Result<std::string>> test_call() override {
    ++tests;
    if (replies.empty()) co_return "Hello!";
    Result<std::string> reply = replies.front();
    replies.pop_front();
    co_return reply;
  }
};

class WizardTest : public ::testing::Test {
 protected:
  int run(std::initializer_list<std::string> lines, WizardKeys keys = WizardKeys::kAsk) {
    lines_.lines = lines;
    text_.clear();
    Wizard wizard(ports_, lines_, output_, keys, {});
    return runtime::block_on(loop_, wizard.run());
  }
  bool said(std::string_view text) const { return text_.find(text) != std::string::npos; }

  testing::ManualLoop loop_;
  FakePorts ports_;
  ScriptedLines lines_;
  std::string text_;
  const cli::Output output_{.out = [this](std::string_view text) { text_ += text; },
                            .err = [this](std::string_view text) { text_ += text; }};
};

using Config = std::map<std::string, std::string, std::less<>>;

TEST_F(WizardTest, TheLocalModelIsOneKeyAway) {
  EXPECT_EQ(run({""}), 0);
  EXPECT_EQ(ports_.config, (Config{{"llm.backend", "local"}, {"llm.model", "local/small"}}));
  EXPECT_TRUE(said("It says: Hello!"));
  EXPECT_EQ(ports_.state->step, WizardState::Step::kDone);
  EXPECT_TRUE(ports_.vault.empty());
}

TEST_F(WizardTest, AKeyGoesIntoTheVaultAndAModelIsChosen) {
  ports_.typed_secret = "sk-0123456789";
  EXPECT_EQ(run({"2", "2"}), 0);
  EXPECT_EQ(ports_.config, (Config{{"llm.backend", "openai"},
                                   {"openai.api_key", "secret:openai_api_key"},
                                   {"openai.model", "m-2"}}));
  EXPECT_EQ(ports_.vault.at("openai_api_key"), "sk-0123456789");
  EXPECT_FALSE(said("sk-0123456789"));
}

TEST_F(WizardTest, AnAddressIsAskedForAndAModelMayBeTyped) {
  ports_.offered = fail(Code::kUnavailable, "refused");
  EXPECT_EQ(run({"3", "nonsense", "3", "http://host/v1", "my-model"}), 0);
  EXPECT_EQ(ports_.config, (Config{{"llm.backend", "openai_compatible"},
                                   {"llm.base_url", "http://host/v1"},
                                   {"llm.model", "my-model"}}));
  EXPECT_TRUE(said("cannot be listed: refused"));
  EXPECT_EQ(run({"4", "", ""}), 0);
  EXPECT_EQ(ports_.config.at("ollama.base_url"), "http://localhost:11434");
}

TEST_F(WizardTest, SkippingAuthAsksForNoKey) {
  ports_.typed_secret = "sk-0123456789";
  EXPECT_EQ(run({"2", ""}, WizardKeys::kSkip), 0);
  EXPECT_TRUE(ports_.vault.empty());
  EXPECT_EQ(ports_.config.count("openai.api_key"), 0u);
}

TEST_F(WizardTest, EveryStepCanBeSkipped) {
  EXPECT_EQ(run({"s"}), 0);
  EXPECT_TRUE(ports_.config.empty());
  EXPECT_EQ(ports_.tests, 0);
  EXPECT_EQ(run({"2", "s"}), 0);
  EXPECT_EQ(ports_.config, (Config{{"llm.backend", "openai"}}));
}

TEST_F(WizardTest, GoesOnWhereItEnded) {
  ports_.typed_secret = "sk-0123456789";
  EXPECT_EQ(run({}), exit_code(Code::kCancelled));
  EXPECT_FALSE(ports_.state);
  EXPECT_EQ(run({"2"}), exit_code(Code::kCancelled));  // the input ends at the model
  EXPECT_EQ(ports_.state->step, WizardState::Step::kModel);
  EXPECT_TRUE(said("goes on from here"));
  ports_.vault.clear();
  EXPECT_EQ(run({"1"}), 0);
  EXPECT_TRUE(said("Going on with the model"));
  EXPECT_TRUE(ports_.vault.empty());  // not asked again
  EXPECT_EQ(ports_.config.at("openai.model"), "m-1");
}

TEST_F(WizardTest, WrongAnswersAreLimited) {
  EXPECT_EQ(run({"9", "x", "0", "-1", "five", "1"}), 0);
  static_assert(kMaxWizardTries == 5);
  EXPECT_TRUE(ports_.config.empty());
  EXPECT_TRUE(said("Left as it is."));
}

TEST_F(WizardTest, WhatIsNeitherYesNorNoIsAskedAgain) {
  const auto answer = [&](std::deque<std::string> lines) {
    lines_.lines = std::move(lines);
    return runtime::block_on(loop_, ask_yes_no(lines_, output_, "Now?", {}));
  };
  EXPECT_EQ(*answer({""}), YesNo::kYes);
  EXPECT_EQ(*answer({" Yes "}), YesNo::kYes);
  EXPECT_EQ(*answer({"No"}), YesNo::kNo);
  EXPECT_EQ(*answer({"nope", "quit", "n"}), YesNo::kNo);
  EXPECT_TRUE(said("Now? [Y/n] Please type y or n.\nNow? [Y/n] "));
  EXPECT_EQ(*answer(std::deque<std::string>(kMaxWizardTries, "maybe")), YesNo::kUnclear);
  EXPECT_EQ(answer({}).error().code, Code::kCancelled);
}

TEST_F(WizardTest, AFailedCallMayBeTriedAgainOrBegunAnew) {
  const auto refused = [] { return Result<std::string>(fail(Code::kUnauthenticated, "wrong key")); };
  ports_.replies = {refused(), refused(), refused(), "Hello!"};
  ports_.typed_secret = "sk-0123456789";
  EXPECT_EQ(run({"2", "1", "a", "k", "p", "1"}), 0);
  EXPECT_EQ(ports_.tests, 4);
  EXPECT_EQ(ports_.config.at("llm.backend"), "local");
  EXPECT_TRUE(said("It does not answer: wrong key"));
  ports_.replies = {refused()};
  EXPECT_EQ(run({"1", ""}), 0);  // good enough for now
}

TEST_F(WizardTest, AListIsShownInPartAndAFetchThatFailsIsSaid) {
  std::vector<std::string> many(kMaxWizardModels + 2, "m");
  ports_.offered = many;
  EXPECT_EQ(run({"2", ""}), 0);
  EXPECT_TRUE(said("... and 2 more"));
  ports_.fetched = fail(Code::kUnavailable, "no network");
  EXPECT_EQ(run({"1"}), 0);
  EXPECT_TRUE(said("chela models pull local/small"));
}

}  // namespace
}  // namespace chela::app
