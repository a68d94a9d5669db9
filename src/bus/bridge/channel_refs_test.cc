#include "bus/bridge/channel_refs.h"

#include <gtest/gtest.h>

namespace chela::bus::bridge {
namespace {

constexpr std::string_view kRef = R"({"channel_id":"c","access_key":"k","direction":"read"})";

bool crosses(std::string_view data) { return may_cross("f", data).has_value(); }

TEST(ChannelRefs, DoNotCross) {
  EXPECT_FALSE(crosses(kRef));
  EXPECT_FALSE(crosses(fmt::format(R"({{"reader":{}}})", kRef)));
  EXPECT_FALSE(crosses(fmt::format(R"([1,{{"deep":[{}]}}])", kRef)));
  EXPECT_FALSE(crosses(fmt::format(R"({{"response":{}}})", kRef)));  // no request: the worker's own words
  const Result<> refused = may_cross("far::f", kRef);
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_NE(refused.error().message.find("far::f"), std::string::npos);
}

TEST(ChannelRefs, EverythingElseDoes) {
  EXPECT_TRUE(crosses("{}"));
  EXPECT_TRUE(crosses(R"({"access_key":"a secret","channel_id":"no direction"})"));
  EXPECT_TRUE(crosses(R"("access_key")"));
  EXPECT_TRUE(crosses(R"({"access_key")"));
  EXPECT_TRUE(crosses(
      fmt::format(R"({{"trigger":{{"type":"http"}},"request_body":{0},"response":{0},"body":null}})", kRef)));
}

}  // namespace
}  // namespace chela::bus::bridge
