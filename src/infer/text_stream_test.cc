#include "infer/text_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace chela::infer {
namespace {

TEST(TextStream, HoldsBackUnfinishedCharacters) {
  TextStream stream({});
  EXPECT_EQ(stream.push("a\xe2\x82"), "a");
  EXPECT_EQ(stream.push("\xac!"), "\u20ac!");
  EXPECT_EQ(stream.push("\xf0\x9f"), "");
  EXPECT_EQ(stream.finish(), "\ufffd");
}

TEST(TextStream, StopsAtTheFirstStopString) {
  TextStream stream({"END", "\n\n"});
  EXPECT_EQ(stream.push("some E"), "some ");
  EXPECT_EQ(stream.push("N text\n"), "EN text");
  EXPECT_FALSE(stream.stopped());
  EXPECT_EQ(stream.push("\nmore"), "");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.push("x"), "");
}

TEST(TextStream, WhatOnlyLookedLikeAStopIsShownAtTheEnd) {
  TextStream stream({"END"});
  EXPECT_EQ(stream.push("the EN"), "the ");
  EXPECT_EQ(stream.finish(), "EN");
}

RC_GTEST_PROP(TextStreamProperty, PiecesAreValidAndNothingIsLost, (const std::vector<std::string>& pieces)) {
  TextStream stream({});
  std::string whole;
  std::string shown;
  for (const auto& piece : pieces) {
    whole += piece;
    const auto part = stream.push(piece);
    RC_ASSERT(utf8::valid(part));
    shown += part;
  }
  shown += stream.finish();
  RC_ASSERT(shown == utf8::sanitize(whole));
}

}  // namespace
}  // namespace chela::infer
