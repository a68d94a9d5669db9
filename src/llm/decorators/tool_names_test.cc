#include "llm/decorators/tool_names.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

namespace chela::llm {
namespace {

std::vector<ToolSpec> tools(const std::vector<std::string>& names) {
  std::vector<ToolSpec> out;
  for (const std::string& name : names) out.push_back({.name = name, .description = {}, .parameters = {}});
  return out;
}

TEST(PlainToolNames, ColonsBecomeUnderscoresAndBack) {
  const PlainToolNames names(tools({"echo", "tool::file_read", "a.b", "x_y"}));
  EXPECT_EQ(names.plain("echo"), "echo");
  EXPECT_EQ(names.plain("tool::file_read"), "tool__file_read");
  EXPECT_EQ(names.own("tool__file_read"), "tool::file_read");
  EXPECT_EQ(names.own("x_y"), "x_y");
  EXPECT_EQ(names.own("a_b"), "a.b");
  EXPECT_EQ(names.own("unheard_of"), "unheard_of");
  EXPECT_EQ(names.plain("gone::since"), "gone__since");
}

TEST(PlainToolNames, WhatWouldBeTheSameIsToldApart) {
  const PlainToolNames names(tools({"a::b", "a__b", "a.b", "a:b"}));
  EXPECT_EQ(names.plain("a__b"), "a__b");
  EXPECT_NE(names.plain("a::b"), "a__b");
  EXPECT_NE(names.plain("a.b"), names.plain("a:b"));
  for (const std::string each : {"a::b", "a__b", "a.b", "a:b"}) EXPECT_EQ(names.own(names.plain(each)), each);
}

TEST(PlainToolNames, AreAtMostAsLongAsTheyMayBe) {
  const std::string longest(kMaxPlainToolName, 'x');
  const PlainToolNames names(tools({longest, longest + "y", longest + "z"}));
  EXPECT_EQ(names.plain(longest), longest);
  EXPECT_EQ(names.plain(longest + "y").size(), kMaxPlainToolName);
  EXPECT_EQ(names.own(names.plain(longest + "z")), longest + "z");
}

TEST(PlainToolNames, AnyNamesArePlainDistinctAndReversible) {
  EXPECT_TRUE(rc::check([] {
    const auto name =
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'b', '_', ':', '.', '-')));
    std::vector<std::string> all = *rc::gen::container<std::vector<std::string>>(name);
    const PlainToolNames names(tools(all));
    std::ranges::reverse(all);
    const PlainToolNames again(tools(all));
    std::set<std::string> seen;
    for (const std::string& each : all) {
      const std::string plain = names.plain(each);
      RC_ASSERT(again.plain(each) == plain);
      RC_ASSERT(names.own(plain) == each);
      RC_ASSERT(!plain.empty() && plain.size() <= kMaxPlainToolName);
      RC_ASSERT(plain.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
                std::string::npos);
      seen.insert(plain);
    }
    RC_ASSERT(seen.size() == std::set<std::string>(all.begin(), all.end()).size());
  }));
}

}  // namespace
}  // namespace chela::llm
