#include "cli/usage_text.h"

#include <gtest/gtest.h>

namespace chela::cli {
namespace {

TEST(UsageText, IsATableWithTheLimitsBelow) {
  const json::Value value = *json::parse(R"({"by": "model", "groups": [
    {"name": "gpt-4o", "calls": 12, "prompt_tokens": 34567, "completion_tokens": 89, "cached_tokens": 0, "cost": 1.5},
    {"name": "mine", "calls": 1, "prompt_tokens": 3, "completion_tokens": 4, "cached_tokens": 0, "unpriced_calls": 1}],
    "limits": [
    {"limit": "all day", "unit": "usd", "hard": true, "amount": 5.0, "spent": 1.5, "reserved": 0.0125, "left": 3.4875,
     "resets_at": "2026-11-23T00:00:00.000Z"},
    {"limit": "all hour", "unit": "calls", "hard": false, "amount": 30, "spent": 13, "reserved": 0, "left": 17}]})");
  EXPECT_EQ(usage_text(value),
            "MODEL   CALLS   READ  CACHED  WRITTEN     COST\n"
            "gpt-4o     12  34567       0       89    $1.50\n"
            "mine        1      3       0        4  unknown\n"
            "\n"
            "LIMIT             AMOUNT  SPENT  RESERVED   LEFT                    RESETS\n"
            "all day            $5.00  $1.50   $0.0125  $3.49  2026-11-23T00:00:00.000Z\n"
            "all hour (warns)      30     13         0     17\n");
}

TEST(UsageText, WithoutAnythingItSaysSo) {
  const std::string text = usage_text(*json::parse(R"({"groups": [], "limits": []})"));
  EXPECT_NE(text.find("nothing was used"), std::string::npos);
  EXPECT_NE(text.find("no limits"), std::string::npos);
}

}  // namespace
}  // namespace chela::cli
