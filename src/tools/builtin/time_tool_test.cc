#include "tools/builtin/time_tool.h"

#include "tools/builtin/tool_fixture.h"

namespace chela::tools {
namespace {

using TimeTool = BuiltinTest;  // the clock stands at 2026-01-01T00:00:00Z, a Thursday

TEST_F(TimeTool, Now) {
  const json::Value now = *json::parse(text("time", R"({"operation": "now"})"));
  EXPECT_EQ(now.string_or("iso"), "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(now.string_or("weekday"), "Thursday");
  EXPECT_EQ(now.int_or("unix", 0), 1767225600);
  EXPECT_EQ(now.int_or("unix_millis", 0), 1767225600000);
  const json::Value tokyo = *json::parse(text("time", R"({"operation": "now", "timezone": "Asia/Tokyo"})"));
  EXPECT_EQ(tokyo.string_or("iso"), "2026-01-01T09:00:00.000+09:00");
  EXPECT_EQ(tokyo.string_or("timezone"), "Asia/Tokyo");
}

TEST_F(TimeTool, ParseAndConvert) {
  const auto iso = [&](const char* arguments) {
    const Result<json::Value> value = json::parse(text("time", arguments));
    return value ? value->string_or("iso") : text("time", arguments);
  };
  EXPECT_EQ(iso(R"({"operation": "parse", "timestamp": "2026-07-01 12:00", "timezone": "Europe/Berlin"})"),
            "2026-07-01T12:00:00.000+02:00");
  EXPECT_EQ(iso(R"({"operation": "parse", "timestamp": "2026-07-01"})"), "2026-07-01T00:00:00.000Z");
  EXPECT_EQ(iso(R"({"operation": "convert", "timestamp": "2026-07-01 12:00", "timezone": "Europe/Berlin"})"),
            "2026-07-01T14:00:00.000+02:00");
  EXPECT_EQ(iso(R"({"operation": "convert", "timestamp": 0, "timezone": "America/New_York"})"),
            "1969-12-31T19:00:00.000-05:00");
  EXPECT_TRUE(iso(R"({"operation": "convert", "timestamp": "now"})").contains("needs a timezone"));
  EXPECT_TRUE(iso(R"({"operation": "convert", "timestamp": "now", "timezone": "Mars/Olympus"})")
                  .contains("'Mars/Olympus' is no IANA time zone"));
  EXPECT_TRUE(iso(R"({"operation": "parse"})").contains("needs a timestamp"));
  EXPECT_TRUE(iso(R"({"operation": "parse", "timestamp": "next week"})").contains("'next week' is no time"));
}

TEST_F(TimeTool, Format) {
  EXPECT_EQ(
      text("time",
           R"({"operation": "format", "timestamp": "2026-11-22T10:05:00Z", "format": "%A, %d %B %Y %H:%M"})"),
      "Sunday, 22 November 2026 10:05");
  EXPECT_EQ(text("time", R"({"operation": "format", "timezone": "Asia/Tokyo"})"), "2026-01-01 09:00:00 JST");
  EXPECT_TRUE(call("time", fmt::format(R"({{"operation": "format", "format": "{}"}})", std::string(201, 'x')))
                  .is_error);
}

TEST_F(TimeTool, Diff) {
  const json::Value diff = *json::parse(
      text("time", R"({"operation": "diff", "timestamp": "2026-01-01", "timestamp2": "2026-01-03 06:30"})"));
  EXPECT_EQ(diff.string_or("text"), "2 days 6 hours 30 minutes");
  EXPECT_EQ(diff.int_or("seconds", 0), 196200);
  EXPECT_EQ(diff.double_or("days", 0), 2.27);
  const json::Value past = *json::parse(text("time", R"({"operation": "diff", "timestamp": "2026-01-02"})"));
  EXPECT_EQ(past.string_or("text"), "minus 1 day");
  EXPECT_EQ(past.int_or("hours", 0), -24);
}

TEST(Timestamps, TakesWhatPeopleWrite) {
  const UnixMs expected = *parse_rfc3339("2026-11-22T10:00:00Z");
  for (const char* text : {"2026-11-22T10:00:00Z", "2026-11-22 10:00", "2026-11-22 10:00:00 UTC",
                           "2026-11-22T10:00Z", "2026-11-22T11:00+01:00", "2026-11-22T11:00:00+0100",
                           "2026-11-22 05:00 -05", " 1795341600 ", "1795341600000"}) {
    const Result<UnixMs> time = parse_timestamp(text, "", 0);
    ASSERT_TRUE(time) << text << ": " << time.error().message;
    EXPECT_EQ(*time, expected) << text;
  }
  EXPECT_EQ(*parse_timestamp(1795341600.25, "", 0), expected + 250);
  EXPECT_EQ(*parse_timestamp("now", "", 42), 42);
  for (const char* text : {"", "2026", "2026-13-01", "2026-02-30", "2026-01-01T25:00", "99999999999999999999",
                           "1e400", "2026-01-01 10:00 +99:99", "2026-01-01x10:00:00Z0"}) {
    EXPECT_FALSE(parse_timestamp(text, "", 0)) << text;
  }
  EXPECT_FALSE(parse_timestamp(1e300, "", 0));
  EXPECT_FALSE(parse_timestamp(json::Value(), "", 0));
}

}  // namespace
}  // namespace chela::tools
