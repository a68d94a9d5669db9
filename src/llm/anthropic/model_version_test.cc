#include "llm/anthropic/model_version.h"

#include <gtest/gtest.h>

#include <limits>

#include "llm/anthropic/limits.h"

namespace chela::llm::anthropic {
namespace {

TEST(ModelVersion, IsReadFromTheId) {
  const auto version = [](std::string_view id) { return *model_version(id); };
  EXPECT_EQ(version("claude-sonnet-4-20250514"), (ModelVersion{4, 0}));
  EXPECT_EQ(version("claude-3-5-haiku-latest"), (ModelVersion{3, 5}));
  EXPECT_EQ(version("claude-3-opus-20240229"), (ModelVersion{3, 0}));
  EXPECT_EQ(version("claude-opus-4-6"), (ModelVersion{4, 6}));
  EXPECT_EQ(version("us.anthropic.claude-haiku-4-5-20251001-v1:0"), (ModelVersion{4, 5}));
  EXPECT_FALSE(model_version("deepseek-chat"));
  EXPECT_FALSE(model_version("claude-instant"));
}

TEST(ModelVersion, SaysHowToThink) {
  EXPECT_EQ(thinking_of("claude-3-5-sonnet-20241022"), Thinking::kNone);
  EXPECT_EQ(thinking_of("claude-3-7-sonnet-latest"), Thinking::kBudget);
  EXPECT_EQ(thinking_of("claude-opus-4-5"), Thinking::kBudget);
  EXPECT_EQ(thinking_of("claude-sonnet-4-6"), Thinking::kAdaptive);
  EXPECT_EQ(thinking_of("other"), Thinking::kNone);
  EXPECT_TRUE(takes_sampling("claude-opus-4-6"));
  EXPECT_FALSE(takes_sampling("claude-opus-4-7"));
  EXPECT_TRUE(takes_sampling("other"));
}

TEST(ModelVersion, ThoughtsAreInsideTheLengthThatWasAskedFor) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t asked : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1364},
                                   std::int64_t{1366}, std::int64_t{30'000}, kMost}) {
    const AnswerLength length = answer_length(asked, 8192, "high");
    EXPECT_EQ(length.most, asked);
    EXPECT_TRUE(length.thoughts == 0 || length.thoughts >= kMinThinkingTokens) << asked;
    EXPECT_LT(length.thoughts, length.most);
    EXPECT_EQ(length.thoughts > 0, asked > 1364) << asked;
  }
  EXPECT_EQ(answer_length({}, 8192, "medium").most, 8192 + 4096);
  EXPECT_EQ(answer_length(-5, 8192, "low").most, 1);
}

}  // namespace
}  // namespace chela::llm::anthropic
