#include "llm/budget/token_bound.h"

#include <gtest/gtest.h>

#include <limits>

namespace chela::llm::budget {
namespace {

Request asking(std::vector<std::string> said) {
  Request request{
      .model = "m",
      .messages = {{.role = Role::kSystem, .content = std::string(20'000, 's')}},
      .tools = {{.name = "echo", .description = std::string(500, 'd'), .parameters = json::Object{}}}};
  bool user = true;
  for (std::string& text : said) {
    request.messages.push_back({.role = user ? Role::kUser : Role::kAssistant, .content = std::move(text)});
    user = !user;
  }
  return request;
}

TEST(TokenBound, BytesAreABound) {
  const TokenBound bound;
  const std::int64_t tokens = bound.of(asking({std::string(1000, 'u')})).tokens;
  EXPECT_GE(tokens, 21'500);
  EXPECT_LE(tokens, 23'000);
  Request image = asking({""});
  image.messages.back().images.push_back({.media_type = "image/png", .hash = "h"});
  EXPECT_GE(bound.of(image).tokens, bound.of(asking({""})).tokens + 8000);
}

TEST(TokenBound, WhatAProviderHasCountedBoundsTheNextCallOfTheConversation) {
  TokenBound bound;
  bound.learn(bound.of(asking({"hello"})), 5000);
  const std::int64_t next = bound.of(asking({"hello", "hi", std::string(300, 'q')})).tokens;
  EXPECT_GE(next, 5302);
  EXPECT_LE(next, 5400);
  // Another conversation of the same agent shares its beginning.
  EXPECT_LE(bound.of(asking({"something else"})).tokens, 5100);
  // Another prompt shares nothing.
  Request other = asking({"hello"});
  other.messages[0].content[0] = 'x';
  EXPECT_GE(bound.of(other).tokens, 20'000);
  other = asking({"hello"});
  other.model = "n";
  EXPECT_GE(bound.of(other).tokens, 20'000);
}

TEST(TokenBound, ModelsThatCountMoreThanBytesAreCorrected) {
  TokenBound bound;
  const TokenBound::Prompt before = bound.of(asking({"a"}));
  bound.learn(before, before.tokens * 2);
  Request other = asking({"a"});
  other.messages[0].content[0] = 'x';
  EXPECT_GE(bound.of(other).tokens, before.tokens * 2);
}

TEST(TokenBound, WhatAServerAddsCountsOnceHoweverManyCallsSawIt) {
  TokenBound bound;
  const auto short_one = [](size_t n) {
    return Request{.model = "m", .messages = {{.content = "hi " + std::to_string(n)}}};
  };
  // Five calls are bounded before the first is answered; each tells of 2,000 tokens more.
  std::vector<TokenBound::Prompt> together;
  for (size_t n = 0; n < 5; ++n) together.push_back(bound.of(short_one(n)));
  for (const TokenBound::Prompt& each : together) bound.learn(each, each.tokens + 2000);
  EXPECT_GE(bound.of(short_one(9)).tokens, together[0].tokens + 2000);
  EXPECT_LE(bound.of(short_one(9)).tokens, together[0].tokens + 2010);
  // One after the other does not add up, and a long prompt grows by no more than a short one.
  for (size_t n = 20; n < 40; ++n) {
    const TokenBound::Prompt each = bound.of(short_one(n));
    bound.learn(each, each.plain + 2000);
  }
  EXPECT_LE(bound.of(short_one(50)).tokens, together[0].tokens + 2010);
  const Request long_one{.model = "m", .messages = {{.content = std::string(100'000, 'x')}}};
  EXPECT_LE(bound.of(long_one).tokens, 103'000);
}

TEST(TokenBound, AnAbsurdCountDoesNotCloseTheModel) {
  TokenBound bound;
  const auto asking_m = [](std::string text) {
    return Request{.model = "m", .messages = {{.content = std::move(text)}}};
  };
  for (int n = 0; n < 100; ++n)
    bound.learn(bound.of(asking_m("a")), std::numeric_limits<std::int64_t>::max());
  EXPECT_LE(bound.of(asking_m("b")).tokens, kMaxAddedTokens + 200);
  EXPECT_GE(bound.of(asking_m("b")).tokens, kMaxAddedTokens);
  EXPECT_LE(bound.of(asking_m("a")).tokens, 2 * kMaxAddedTokens + 200);
}

TEST(TokenBound, ThoughtsThatGoBackArePartOfThePrompt) {
  TokenBound bound;
  const auto with_thoughts = [](std::string data) {
    Request request = asking({"a"});
    request.messages.push_back({.role = Role::kAssistant, .provider_data = std::move(data)});
    return request;
  };
  const std::int64_t without = bound.of(with_thoughts("")).tokens;
  EXPECT_EQ(bound.of(with_thoughts(std::string(5000, 't'))).tokens, without + 5000);
  bound.learn(bound.of(with_thoughts(std::string(5000, 't'))), 100);
  EXPECT_GE(bound.of(with_thoughts(std::string(5000, 'u'))).tokens, 5000)
      << "other thoughts are another prompt";
}

TEST(TokenBound, ForgetsTheOldestPrompts) {
  TokenBound bound;
  const auto numbered = [](size_t n) {
    return Request{.model = "m", .messages = {{.content = std::string(1000, 'a') + std::to_string(n)}}};
  };
  bound.learn(bound.of(numbered(0)), 10);
  EXPECT_LE(bound.of(numbered(0)).tokens, 20);
  for (size_t n = 1; n <= kMaxKnownPrompts; ++n) bound.learn(bound.of(numbered(n)), 10);
  EXPECT_GE(bound.of(numbered(0)).tokens, 900);
  EXPECT_LE(bound.of(numbered(kMaxKnownPrompts)).tokens, 20);
  // And models that it corrects.
  for (size_t n = 0; n <= 2 * kMaxCorrectedModels; ++n) {
    Request request = numbered(n);
    request.model = std::to_string(n);
    bound.learn(bound.of(request), 1'000'000);
  }
  EXPECT_GE(
      bound.of({.model = std::to_string(2 * kMaxCorrectedModels), .messages = {{.content = "new"}}}).tokens,
      50'000);
}

TEST(TokenBound, AnswersThatWereCutAreAboutAThirdOfTheirBytes) {
  EXPECT_EQ(estimate_answer_tokens(0), 0);
  EXPECT_EQ(estimate_answer_tokens(1), 1);
  EXPECT_EQ(estimate_answer_tokens(300), 100);
}

}  // namespace
}  // namespace chela::llm::budget
