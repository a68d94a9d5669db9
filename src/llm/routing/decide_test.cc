#include "llm/routing/decide.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "llm/routing/dimensions.h"
#include "llm/routing/limits.h"
#include "llm/routing/phrases.h"
#include "llm/routing/scorer.h"

namespace chela::llm::routing {
namespace {

struct Case {
  std::string_view text;
  Tier tier;
  Decision::By by;
};

TEST(Decide, HintsThenPatternsThenTheScore) {
  using enum Tier;
  using enum Decision::By;
  const Case cases[] = {
      {"[tier:frontier] hi", kFrontier, kHint},
      {"sum it up [Tier: FLASH] please", kFlash, kHint},
      {"[tier:]  [tier:huge] [tier:pro] go", kPro, kHint},
      {"[tier:standard", kFlash, kScore},
      {"hi", kFlash, kPattern},
      {"  Thanks!! ", kFlash, kPattern},
      {"ok, got it. thank you", kFlash, kPattern},
      {"What\xe2\x80\x99s the weather like today?", kFlash, kPattern},
      {"what is the time", kFlash, kPattern},
      {"what is the time complexity of quicksort", kFlash, kScore},
      {"run a security audit of this", kFrontier, kPattern},
      {"Security first.\nThen the review of the book", kFlash, kScore},
      {"are there vulnerabilities? please check", kFrontier, kPattern},
      {"check for vulnerabilities", kFlash, kScore},
      {"deploy it to production", kPro, kPattern},
      {"a production push tonight", kPro, kPattern},
      {"hidden machines", kFlash, kScore},
      {"", kFlash, kScore},
      {"<context>\n[time] 2026-01-01\nsecurity audit </context>\n\nhello", kFlash, kPattern},
      {"<context>\n no end", kFlash, kScore},
  };
  for (const Case& each : cases) {
    const Decision decision = decide(each.text, Method::kScore);
    EXPECT_EQ(decision.tier, each.tier) << each.text << ": " << decision.reason;
    EXPECT_EQ(by_name(decision.by), by_name(each.by)) << each.text << ": " << decision.reason;
    EXPECT_EQ(decision.complexity, complexity_of(each.tier));
    EXPECT_FALSE(decision.reason.empty());
  }
}

TEST(Decide, KeywordsAreWholeWords) {
  using enum Complexity;
  const std::pair<std::string_view, Complexity> cases[] = {
      {"", kSimple},
      {"please refactor the parser", kComplex},
      {"Explain  why that is", kComplex},
      {"look: ```int x;```", kComplex},
      {"ping the server for me", kSimple},
      {"what's new in this place", kSimple},
      {"my machine hums along", kModerate},               // no "hi", no "hum"
      {"the showing was playing everywhere", kModerate},  // no "show", no "when", no "where is"
      {"reviewers listed everything", kModerate},         // no "review", no "list"
      {"hm", kSimple},
  };
  for (const auto& [text, complexity] : cases) {
    const Decision decision = decide(text, Method::kKeywords);
    EXPECT_EQ(complexity_name(decision.complexity), complexity_name(complexity))
        << text << ": " << decision.reason;
  }
  EXPECT_EQ(decide(std::string(999, 'x') + " y", Method::kKeywords).complexity, kComplex);
  EXPECT_EQ(decide("status " + std::string(190, 'x'), Method::kKeywords).complexity, kSimple);
  EXPECT_EQ(decide("status " + std::string(195, 'x'), Method::kKeywords).complexity, kModerate);
}

TEST(Decide, ReasonsSayWhatCounted) {
  const Decision scored =
      decide("Compare the pros and cons of Rust versus Go, step by step?", Method::kScore);
  EXPECT_EQ(scored.by, Decision::By::kScore);
  EXPECT_TRUE(scored.reason.starts_with(fmt::format("score {}: reasoning_words 100", scored.score.total)))
      << scored.reason;
  const json::Value shown = to_json(scored, Detail::kDimensions);
  EXPECT_EQ(shown.find("dimensions")->as_array()->size(), kDimensions);
  EXPECT_EQ(to_json(scored, Detail::kShort).find("dimensions"), nullptr);
  for (const Tier each : {Tier::kFlash, Tier::kStandard, Tier::kPro, Tier::kFrontier})
    EXPECT_EQ(tier_from_name(tier_name(each)), each);
  for (const Method each : {Method::kScore, Method::kKeywords})
    EXPECT_EQ(method_from_name(method_name(each)), each);
}

int points(std::string_view text, std::string_view dimension) {
  const Words words(text);
  for (const DimensionScore& each : score(words).dimensions) {
    if (each.name == dimension) return each.score;
  }
  return -1;
}

TEST(Scorer, EachDimensionByItself) {
  struct One {
    std::string_view dimension;
    std::string_view text;
    int points;
  };
  const One cases[] = {
      {"reasoning_words", "why not", 50},
      {"reasoning_words", "trade-offs", 50},
      {"reasoning_words", "whys explained", 0},
      {"reasoning_words", "why? how? better!", 100},
      {"token_estimate", "twelve bytes", 0},
      {"token_estimate", "thirty bytes of a plain text..", 2},
      {"code_indicators", "see main.rs", 50},
      {"code_indicators", "the .rsx ending", 0},
      {"code_indicators", "call()", 50},
      {"code_indicators", "<Button kind>", 50},
      {"code_indicators", "1 < 2", 0},
      {"code_indicators", "`x` => y", 100},
      {"multi_step", "followed by that", 50},
      {"domain_specific", "smart contracts", 50},
      {"creativity", "a poem", 50},
      {"question_complexity", "what if?", 45},
      {"question_complexity", "??????", 100},
      {"precision", "in 2026", 50},
      {"precision", "3.14", 50},
      {"precision", "20265", 0},
      {"ambiguity", "this thing", 50},
      {"context_dependency", "as you said", 50},
      {"tool_likelihood", "fetched", 0},
      {"tool_likelihood", "fetch", 50},
      {"sentence_complexity", "a, b; and c", 48},
      {"safety_sensitivity", "my credit card", 50},
  };
  for (const One& each : cases) EXPECT_EQ(points(each.text, each.dimension), each.points) << each.text;
}

TEST(Scorer, WeightsSumToAHundredAndTiersBeginWhereTheySay) {
  int sum = 0;
  for (const Dimension& each : dimensions()) sum += each.weight;
  EXPECT_EQ(sum, 100);
  EXPECT_EQ(tier_of(kStandardFrom - 1), Tier::kFlash);
  EXPECT_EQ(tier_of(kStandardFrom), Tier::kStandard);
  EXPECT_EQ(tier_of(kProFrom), Tier::kPro);
  EXPECT_EQ(tier_of(kFrontierFrom - 1), Tier::kPro);
  EXPECT_EQ(tier_of(kFrontierFrom), Tier::kFrontier);
}

TEST(Scorer, DimensionsThatStandOutTogetherWeighMore) {
  EXPECT_EQ(score(Words("why")).boost, 115);  // reasoning and an open question
  EXPECT_EQ(score(Words("poem")).boost, 100);
  EXPECT_EQ(score(Words("why a poem")).boost, kBoostOfThree);
  EXPECT_EQ(score(Words("why")).total, (14 * 50 + 7 * 25) * 115 / 10'000);
  std::string everything;
  for (const Dimension& each : dimensions()) everything += std::string(each.phrases) + ";? 3.1 `x` => ";
  EXPECT_EQ(score(Words(everything)).total, 100) << "never more";
}

TEST(Words, WhatIsTooLongIsReadFromBothEnds) {
  std::string text = "[tier:pro] ";
  text.append(kMaxReadBytes, 'a');
  EXPECT_EQ(decide(text, Method::kScore).by, Decision::By::kHint);
  text = std::string(10 * 1024 * 1024, '\xff') + " [tier:flash]";
  EXPECT_EQ(decide(text, Method::kScore).tier, Tier::kFlash);
  EXPECT_LE(Words(text).text().size(), kMaxReadBytes);
  EXPECT_EQ(Words(text).bytes(), text.size());
  EXPECT_EQ(points(text, "token_estimate"), 100);
}

TEST(Words, EveryLimitHolds) {
  EXPECT_EQ(decide("hi hi hi hi hi", Method::kScore).by, Decision::By::kPattern);
  static_assert(kMaxGreetingWords == 5);
  EXPECT_EQ(decide("hi hi hi hi hi hi", Method::kScore).by, Decision::By::kScore);
  static_assert(kMaxSmallTalkWords == 10);
  EXPECT_EQ(decide("what is the time the time the time the time", Method::kScore).by, Decision::By::kPattern);
  EXPECT_EQ(decide("what is the time the time the time the time now", Method::kScore).by,
            Decision::By::kScore);
  EXPECT_EQ(decide("[tier:" + std::string(kMaxHintBytes, ' ') + "pro]", Method::kScore).by,
            Decision::By::kScore);
  EXPECT_EQ(points("<a" + std::string(kMaxTagBytes, ' ') + ">", "code_indicators"), 0);
  const std::string_view longest[] = {"one two three four five six"};
  static_assert(kMaxPhraseWords == 6);
  EXPECT_EQ(Phrases(longest).count(Words("one two three four five six"))[0], 1);
}

// Whatever comes in is decided, the same way each time; hostile repetitions of all that begins a match are nothing special.
RC_GTEST_PROP(Decide, AnyBytesAreDecided, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const Decision decision = decide(text, Method::kScore);
  RC_ASSERT(decision == decide(text, Method::kScore));
  RC_ASSERT(decision.score.total >= 0 && decision.score.total <= 100);
  RC_ASSERT(!decision.reason.empty());
  (void)decide(text, Method::kKeywords);
}

RC_GTEST_PROP(Decide, MixturesOfWhatIsLookedForAreDecided, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "security ", "what is ", "[tier:", "]", "<context>\n", "</context>\n\n", "```", "<a", "pros and ",
      "why", "\xe2\x80", "\x99", "'", "\n", "production", "flash"));
  std::string text;
  for (const std::string& each : pieces) text += each;
  const Decision decision = decide(text, Method::kScore);
  for (const DimensionScore& each : decision.score.dimensions)
    RC_ASSERT(each.score >= 0 && each.score <= kDimensionCap);
}

TEST(Decide, MegabytesOfBeginningsAreDecided) {
  for (const std::string_view piece :
       {"[tier:", "<a", "security ", "pros and ", "`", "what's ", "\xe2\x80\x99", "{"}) {
    std::string text;
    while (text.size() < 10 * 1024 * 1024) text += piece;
    EXPECT_FALSE(decide(text, Method::kScore).reason.empty());
    EXPECT_FALSE(decide(text, Method::kKeywords).reason.empty());
  }
}

}  // namespace
}  // namespace chela::llm::routing
