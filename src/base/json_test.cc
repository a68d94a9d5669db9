#include "base/json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

namespace chela::json {
namespace {

std::string again(std::string_view text) {
  const auto value = parse(text);
  return value ? write(*value) : value.error().message;
}

TEST(Json, NumbersSurvive) {
  for (const char* text : {"0", "-1", "391", "391.0", "1.5", "-0.0", "1e+300", "9223372036854775807",
                           "-9223372036854775808", "18446744073709551615", "18446744073709551616", "1e400",
                           "0.1000000000000000055511151231257827", "123456789012345678901234567890", "0.1"}) {
    EXPECT_EQ(again(text), text);
  }
  EXPECT_EQ(again("1E2"), "100.0");
}

TEST(Json, KeyOrderIsKeptAndTheLastDuplicateWins) {
  EXPECT_EQ(again(R"({"b":1,"a":2,"b":3})"), R"({"b":3,"a":2})");
  EXPECT_EQ(again(R"({"a":{"b":1,"b":2,"b":3}})"), R"({"a":{"b":3}})");
  EXPECT_TRUE(rc::check("as if each had been set", [](const std::vector<std::uint8_t>& keys) {
    std::string text;
    Object expected;
    for (size_t i = 0; i < keys.size(); ++i) {
      const std::string key = std::to_string(keys[i] % 32);
      text += fmt::format(R"({}"{}":{})", i == 0 ? "" : ",", key, i);
      expected.set(key, i);
    }
    RC_ASSERT(again("{" + text + "}") == write(expected));
  }));
}

// Each look-up among so many would take minutes.
TEST(Json, AnObjectMayHaveManyMembers) {
  constexpr size_t kMany = 500'000;
  std::string text;
  for (size_t i = 0; i < kMany; ++i) text += fmt::format(R"("{:07}":1,)", i);
  const Result<Value> value = parse("{" + text + R"("0000000":2})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->as_object()->size(), kMany);
  EXPECT_EQ(value->as_object()->begin()->value, Value(2));
}

TEST(Json, DepthIsLimited) {
  const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse(nested(kMaxJsonDepth)));
  EXPECT_FALSE(parse(nested(kMaxJsonDepth + 1)));
}

TEST(Json, RefusesWhatIsNoJson) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":1,}", "nul", "1 2", "\"\xff\"", "\"\\ud800\"", "01",
                           "+1", ".5", "NaN", "'a'", "{\"a\" 1}", "\"\n\""}) {
    EXPECT_FALSE(parse(text)) << text;
  }
  EXPECT_EQ(parse("[1,]").error().code, Code::kInvalidArgument);
}

TEST(Json, WritesNoInfinity) { EXPECT_EQ(write(Value(std::numeric_limits<double>::infinity())), "null"); }

TEST(Json, EscapesAndRepairsStrings) {
  EXPECT_EQ(write(Value("a\"\\\n\x01")), R"("a\"\\\n\u0001")");
  EXPECT_EQ(write(Value("\xff")), "\"\xEF\xBF\xBD\"");
}

TEST(Json, CanonicalForm) {
  const auto value = parse(R"({"b":[1e30,4.50,0.002,1e-27,391.0],"a":"\u20ac","\ud83d\ude00":1,"\ufb33":2})");
  ASSERT_TRUE(value);
  EXPECT_EQ(
      canonical(*value),
      "{\"a\":\"\xE2\x82\xAC\",\"b\":[1e+30,4.5,0.002,1e-27,391],\"\xF0\x9F\x98\x80\":1,\"\xEF\xAC\xB3\":2}");
}

TEST(Json, PrettyFormParsesBack) {
  const auto value = parse(R"({"a":[1,{"b":[]}],"c":{}})");
  EXPECT_EQ(*parse(write_pretty(*value)), *value);
}

Value arbitrary(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0:
      return Value();
    case 1:
      return Value(*rc::gen::arbitrary<bool>());
    case 2:
      return Value(static_cast<long long>(*rc::gen::arbitrary<std::int64_t>()));
    case 3:
      return Value(*rc::gen::arbitrary<double>());
    case 4:
      return Value(*rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127)));
    case 5: {
      Array a;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) a.push_back(arbitrary(depth - 1));
      return Value(std::move(a));
    }
    default: {
      Object o;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
        o.set(*rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127)), arbitrary(depth - 1));
      }
      return Value(std::move(o));
    }
  }
}

TEST(Json, RoundTrip) {
  EXPECT_TRUE(rc::check([] {
    const Value value = arbitrary(4);
    const auto back = parse(write(value));
    RC_ASSERT(back.has_value());
    RC_ASSERT(write(*back) == write(value));
    RC_ASSERT(canonical(*back) == canonical(value));
  }));
}

TEST(Json, ErrorForm) {
  Error error{.code = Code::kRateLimited,
              .message = "slow down",
              .context = {{"status", "429"}},
              .retry_after = 1500ms};
  EXPECT_EQ(
      write(from_error(error)),
      R"({"code":"rate_limited","message":"slow down","context":{"status":"429"},"retry_after_ms":1500})");
}

}  // namespace
}  // namespace chela::json
