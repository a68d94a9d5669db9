#include "bus/observability/sampling.h"

#include <gtest/gtest.h>

#include "bus/observability/limits.h"
#include "bus/observability/options.h"

namespace chela::bus::observability {
namespace {

TEST(Glob, StarsAndQuestionMarks) {
  EXPECT_TRUE(matches_glob("a::*", "a::b"));
  EXPECT_TRUE(matches_glob("*b*d", "abcbd"));
  EXPECT_TRUE(matches_glob("a?c", "abc"));
  EXPECT_TRUE(matches_glob("**", ""));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
  EXPECT_FALSE(matches_glob("a*", "ba"));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(Sampler, KeepsItsShareEvenly) {
  Sampler sampler({.ratio = 0.3});
  int kept = 0;
  for (int i = 0; i < 1000; ++i) kept += sampler.begins("f", "s", {}) ? 1 : 0;
  EXPECT_NEAR(kept, 300, 1);
}

TEST(Sampler, TheFirstRuleThatFitsCounts) {
  Sampler sampler({.ratio = 0,
                   .rules = {{.operation = "a::*", .rate = 1},
                             {.operation = "a::b", .rate = 0},
                             {.service = "w?", .rate = 1}}});
  EXPECT_TRUE(sampler.begins("a::b", "x", {}));
  EXPECT_TRUE(sampler.begins("c", "w1", {}));
  EXPECT_FALSE(sampler.begins("c", "x", {}));
}

TEST(Sampler, ALimitLetsSoManyBeginInASecond) {
  Sampler sampler({.traces_per_second = 3});
  SteadyTime now{};
  const auto burst = [&] {
    int kept = 0;
    for (int i = 0; i < 10; ++i) kept += sampler.begins("f", "s", now) ? 1 : 0;
    return kept;
  };
  EXPECT_EQ(burst(), 3);
  now += std::chrono::seconds(1);
  EXPECT_EQ(burst(), 3);
  now += std::chrono::seconds(100);
  EXPECT_EQ(burst(), 3);
}

TEST(SamplingOptions, AreChecked) {
  const auto wrong = [](std::string_view text) { return !read_options(*json::parse(text)).has_value(); };
  EXPECT_TRUE(wrong(R"({"sampling": {"rules": [{"operation": "f"}]}})"));
  EXPECT_TRUE(wrong(R"({"sampling": {"rules": [{"rate": 2}]}})"));
  EXPECT_TRUE(wrong(R"({"sampling": {"rules": [{"rate": 1, "x": 1}]}})"));
  EXPECT_TRUE(wrong(R"({"sampling": {"rate_limit": {"max_traces_per_second": 0}}})"));
  EXPECT_TRUE(wrong(R"({"logs_sampling_ratio": -1})"));
  json::Value rules = json::Value::array();
  for (size_t i = 0; i <= kMaxSamplingRules; ++i) rules.push_back(json::Value::object({{"rate", 1}}));
  EXPECT_TRUE(
      wrong(json::write(json::Value::object({{"sampling", json::Value::object({{"rules", rules}})}}))));
}

}  // namespace
}  // namespace chela::bus::observability
