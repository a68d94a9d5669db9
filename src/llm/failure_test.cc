#include "llm/failure.h"

#include <gtest/gtest.h>

namespace chela::llm {
namespace {

Error error_of(Code code) { return Error{.code = code, .message = "no"}; }

TEST(Failure, EachCodeSaysWhoIsAskedNext) {
  struct Row {
    Code code;
    bool passes;
    bool another;
  };
  for (const Row& row : {Row{Code::kInvalidArgument, false, false}, Row{Code::kUnauthenticated, false, true},
                         Row{Code::kPermissionDenied, false, true}, Row{Code::kNotFound, false, true},
                         Row{Code::kTooLarge, false, false}, Row{Code::kUnprocessable, false, false},
                         Row{Code::kRateLimited, true, true}, Row{Code::kBudgetExceeded, false, false},
                         Row{Code::kCancelled, false, false}, Row{Code::kInternal, false, false},
                         Row{Code::kUnsupported, false, false}, Row{Code::kUpstream, true, true},
                         Row{Code::kUnavailable, true, true}, Row{Code::kTimeout, true, true}}) {
    EXPECT_EQ(passes(error_of(row.code)), row.passes) << code_name(row.code);
    EXPECT_EQ(another_may_answer(error_of(row.code)), row.another) << code_name(row.code);
  }
}

TEST(Failure, WhatCannotGetBetterHereMayElsewhere) {
  const Error quota = error_of(Code::kRateLimited).with("reason", "insufficient_quota").with("retry", "no");
  EXPECT_FALSE(passes(quota));
  EXPECT_TRUE(another_may_answer(quota));
  const Error keyless = error_of(Code::kUnavailable).with("reason", "key_missing").with("retry", "no");
  EXPECT_FALSE(passes(keyless));
  EXPECT_TRUE(another_may_answer(keyless));
  const Error rambling = error_of(Code::kUpstream).with("reason", "answer_too_large").with("retry", "no");
  EXPECT_FALSE(passes(rambling));
  EXPECT_FALSE(another_may_answer(rambling));
}

}  // namespace
}  // namespace chela::llm
