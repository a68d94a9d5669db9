#include "agent/traces/expectations.h"

#include <gtest/gtest.h>

#include "agent/traces/limits.h"

namespace chela::agent::traces {
namespace {

Observed seen() {
  return {.responses = {"It is Done."},
          .calls = {{"c1", "echo", "hello", false}, {"c2", "shell", "Error: no", true}},
          .state = "completed",
          .model_calls = 2,
          .requests = {"what the model saw"}};
}

std::string failed(const Expects& expects, const Observed& observed = seen()) {
  std::string names;
  for (const Unmet& each : unmet(expects, observed)) names += each.expectation + " ";
  return names;
}

TEST(Expectations, EachHoldsOrIsNamed) {
  EXPECT_EQ(failed({}), "");
  const Expects all{.response_contains = {"is done"},
                    .response_not_contains = {"sorry"},
                    .response_matches = "D.ne",
                    .tools_used = {"echo"},
                    .tools_not_used = {"http"},
                    .max_tool_calls = 2,
                    .min_responses = 1,
                    .tool_results_contain = {{"echo", "ell"}},
                    .tools_failed = {"shell"},
                    .state = "completed",
                    .error_contains = "",
                    .model_calls = 2,
                    .requests_contain = {"model saw"},
                    .requests_not_contain = {"secret"}};
  EXPECT_EQ(failed(all), "");
  EXPECT_EQ(failed({.response_contains = {"done", "bye"}}), "response_contains ");
  EXPECT_EQ(failed({.response_not_contains = {"DONE"}}), "response_not_contains ");
  EXPECT_EQ(failed({.response_matches = "^done$"}), "response_matches ");
  EXPECT_EQ(failed({.tools_used = {"http"}}), "tools_used ");
  EXPECT_EQ(failed({.tools_not_used = {"echo"}}), "tools_not_used ");
  EXPECT_EQ(failed({.all_tools_succeeded = true}), "all_tools_succeeded ");
  EXPECT_EQ(failed({.all_tools_succeeded = false}), "");
  EXPECT_EQ(failed({.max_tool_calls = 1}), "max_tool_calls ");
  EXPECT_EQ(failed({.min_responses = 2}), "min_responses ");
  EXPECT_EQ(failed({.tool_results_contain = {{"echo", "no"}, {"http", ""}}}),
            "tool_results_contain tool_results_contain ");
  EXPECT_EQ(failed({.tools_failed = {"echo"}}), "tools_failed ");
  EXPECT_EQ(failed({.state = "failed"}), "state ");
  EXPECT_EQ(failed({.error_contains = "x"}), "error_contains ");
  EXPECT_EQ(failed({.model_calls = 3}), "model_calls ");
  EXPECT_EQ(failed({.requests_contain = {"secret"}}), "requests_contain ");
  EXPECT_EQ(failed({.requests_not_contain = {"saw"}}), "requests_not_contain ");
}

TEST(Expectations, WhatIsShownOfATextIsShort) {
  const Observed observed{.responses = {std::string(2 * kMaxQuotedBytes, 'x')}};
  const std::vector<Unmet> found = unmet({.response_contains = {"y"}}, observed);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_LT(found[0].message.size(), kMaxQuotedBytes + 100);
}

TEST(Expectations, RewrittenTheyHoldAndWhatHeldStays) {
  const Expects wrong{.response_contains = {"done", "bye"},
                      .response_not_contains = {"done", "sorry"},
                      .response_matches = "^x",
                      .tools_used = {"http"},
                      .tools_not_used = {"echo", "time"},
                      .all_tools_succeeded = true,
                      .max_tool_calls = 1,
                      .min_responses = 9,
                      .tool_results_contain = {{"echo", "bye"}, {"shell", "no"}, {"http", "x"}},
                      .tools_failed = {"echo"},
                      .state = "failed",
                      .error_contains = "gone",
                      .model_calls = 1,
                      .requests_contain = {"model", "x"},
                      .requests_not_contain = {"model", "x"}};
  const Expects right = rewritten(wrong, seen());
  EXPECT_EQ(failed(right), "");
  EXPECT_EQ(right, (Expects{.response_contains = {"done", "It is Done."},
                            .response_not_contains = {"sorry"},
                            .tools_used = {"echo", "shell"},
                            .tools_not_used = {"time"},
                            .max_tool_calls = 2,
                            .min_responses = 1,
                            .tool_results_contain = {{"echo", "hello"}, {"shell", "no"}},
                            .tools_failed = {"shell"},
                            .state = "completed",
                            .model_calls = 2,
                            .requests_contain = {"model"},
                            .requests_not_contain = {"x"}}));
  EXPECT_EQ(rewritten(right, seen()), right);
}

TEST(Expectations, ARunDescribesItself) {
  Observed observed = seen();
  const Expects made = described(observed);
  EXPECT_EQ(failed(made), "");
  EXPECT_EQ(made.tools_failed, (std::vector<std::string>{"shell"}));
  observed.responses = {std::string(50, 'a') + " " + std::string(kMaxTraceReplyBytes, 'b')};
  EXPECT_EQ(described(observed).response_contains, (std::vector<std::string>{std::string(50, 'a')}));
}

TEST(Expectations, TurnsAddUp) {
  Observed whole = seen();
  whole.add({.responses = {"more"}, .state = "failed", .error = "gone", .model_calls = 1});
  EXPECT_EQ(failed({.response_contains = {"done", "more"},
                    .state = "failed",
                    .error_contains = "gone",
                    .model_calls = 3},
                   whole),
            "");
}

}  // namespace
}  // namespace chela::agent::traces
