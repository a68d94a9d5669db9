#include "base/time_zone.h"

#include <gtest/gtest.h>

namespace chela {
namespace {

UnixMs at(std::string_view text) { return *parse_rfc3339(text); }

TEST(TimeZone, ConvertsWithSummerTime) {
  const Result<LocalTime> winter = to_local(at("2026-01-01T12:00:00Z"), "Europe/Berlin");
  ASSERT_TRUE(winter);
  EXPECT_EQ(format_rfc3339(*winter), "2026-01-01T13:00:00.000+01:00");
  EXPECT_EQ(winter->abbreviation, "CET");
  EXPECT_EQ(format_rfc3339(*to_local(at("2026-07-01T12:00:00Z"), "europe/berlin")),
            "2026-07-01T14:00:00.000+02:00");
  EXPECT_EQ(format_rfc3339(*to_local(at("2026-07-01T12:00:00Z"), "America/St_Johns")),
            "2026-07-01T09:30:00.000-02:30");
}

TEST(TimeZone, LocalTimesAtClockChanges) {
  const auto civil = [](std::string_view text) { return to_civil(at(text)); };
  EXPECT_EQ(from_local(civil("2026-06-01T10:00:00Z"), "Asia/Tokyo")->time, at("2026-06-01T01:00:00Z"));
  const Result<FromLocal> twice = from_local(civil("2026-10-25T02:30:00Z"), "Europe/Berlin");
  EXPECT_EQ(twice->match, LocalMatch::kTwice);
  EXPECT_EQ(twice->time, at("2026-10-25T00:30:00Z"));
  const Result<FromLocal> skipped = from_local(civil("2026-03-29T02:30:00Z"), "Europe/Berlin");
  EXPECT_EQ(skipped->match, LocalMatch::kSkipped);
  EXPECT_EQ(skipped->time, at("2026-03-29T01:00:00Z"));
}

TEST(TimeZone, TellsHowLongAnOffsetHolds) {
  const Result<ZonePeriod> summer = zone_period(at("2026-07-01T00:00:00Z"), "Europe/Berlin");
  ASSERT_TRUE(summer);
  EXPECT_EQ(summer->begin, at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(summer->end, at("2026-10-25T01:00:00Z"));
  EXPECT_EQ(summer->offset_seconds, 7200);
  const Result<ZonePeriod> always = zone_period(0, "UTC");
  ASSERT_TRUE(always);
  EXPECT_EQ(format_rfc3339(always->begin), "0001-01-01T00:00:00.000Z");
  EXPECT_EQ(always->end, at("9999-12-31T23:59:59.999Z") + 1);
}

TEST(TimeZone, Formats) {
  EXPECT_EQ(*format_time(at("2026-11-22T10:05:00Z"), "UTC", "%A, %d %B %Y %H:%M:%S %Z"),
            "Sunday, 22 November 2026 10:05:00 UTC");
  EXPECT_EQ(*format_time(at("2026-11-22T23:05:00Z"), "Asia/Tokyo", "%F %T %z"), "2026-11-23 08:05:00 +0900");
}

TEST(TimeZone, SaysWhatIsWrong) {
  const Result<LocalTime> unknown = to_local(0, "Japan/Tokyo");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  EXPECT_TRUE(unknown.error().message.contains("Asia/Tokyo")) << unknown.error().message;
  EXPECT_EQ(to_local(0, "../../etc/passwd").error().code, Code::kNotFound);
  EXPECT_EQ(to_local(INT64_MAX, "UTC").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace chela
