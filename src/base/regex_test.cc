#include "base/regex.h"

#include <gtest/gtest.h>

namespace chela {
namespace {

TEST(Regex, FindsGroupsInsideTheText) {
  const auto regex = Regex::literal("(\\w+)@(\\w+)(!)?");
  const std::string text = "mail ann@home now";
  const auto match = regex.match(text);
  ASSERT_TRUE(match);
  EXPECT_EQ((*match)[0], "ann@home");
  EXPECT_EQ((*match)[1].data(), text.data() + 5);
  EXPECT_EQ((*match)[2], "home");
  EXPECT_EQ((*match)[3].data(), nullptr);
  EXPECT_FALSE(regex.match("nobody"));
}

TEST(Regex, CaseAndReplacement) {
  const auto regex = Regex::literal("a(b)", Regex::Case::kInsensitive);
  EXPECT_TRUE(regex.found_in("xAB"));
  EXPECT_FALSE(Regex::literal("a(b)").found_in("xAB"));
  EXPECT_EQ(regex.replace_first("abab", "<\\1>"), "<b>ab");
  EXPECT_EQ(regex.replace_all("abAB", "-"), "--");
}

TEST(Regex, AWrongPatternIsAnErrorWithThePattern) {
  const auto regex = Regex::create("(open");
  ASSERT_FALSE(regex);
  EXPECT_EQ(regex.error().code, Code::kInvalidArgument);
  EXPECT_NE(regex.error().message.find("(open"), std::string::npos);
}

}  // namespace
}  // namespace chela
