#include "bus/cron/expression.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "base/time.h"
#include "bus/cron/next_run.h"

namespace chela::bus::cron {
namespace {

UnixMs at(std::string_view text) { return *parse_rfc3339(text); }

std::string next(std::string_view expression, std::string_view after, std::string_view zone = "UTC") {
  const Result<Expression> parsed = Expression::parse(expression);
  if (!parsed) return parsed.error().message;
  const Result<std::optional<UnixMs>> run = next_run(*parsed, zone, at(after));
  if (!run) return run.error().message;
  return *run ? format_rfc3339(**run).substr(0, 19) : "never";
}

TEST(CronExpression, SixAndSevenFields) {
  EXPECT_EQ(next("* * * * * *", "2026-01-01T00:00:00Z"), "2026-01-01T00:00:01");
  EXPECT_EQ(next("* * * * * *", "2026-01-01T00:00:00.999Z"), "2026-01-01T00:00:01");
  EXPECT_EQ(next("0 30 9,12 * * Mon-Fri", "2026-01-02T09:30:00Z"), "2026-01-02T12:30:00");
  EXPECT_EQ(next("0 30 9,12 * * mon-FRIDAY", "2026-01-02T12:30:00Z"), "2026-01-05T09:30:00");
  EXPECT_EQ(next("*/20 * * * * ?", "2026-01-01T00:00:41Z"), "2026-01-01T00:01:00");
  EXPECT_EQ(next("10/20 0 0 1 1 *", "2026-01-01T00:00:10Z"), "2026-01-01T00:00:30");
  EXPECT_EQ(next("0 0 0 29 2 *", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00");
  EXPECT_EQ(next("0 0 0 1 jan,July * 2030-2040/5", "2030-02-01T00:00:00Z"), "2030-07-01T00:00:00");
  EXPECT_EQ(next("0 0 0 1 1 * 2026", "2026-01-01T00:00:00Z"), "never");
  EXPECT_EQ(next("59 59 23 31 12 *", "2026-12-31T23:59:58Z"), "2026-12-31T23:59:59");
  // 1 is Sunday, and a day must fit both fields.
  EXPECT_EQ(next("0 0 0 * * 1", "2026-01-01T00:00:00Z"), "2026-01-04T00:00:00");
  EXPECT_EQ(next("0 0 0 13 * 6", "2026-01-01T00:00:00Z"), "2026-02-13T00:00:00");
}

TEST(CronExpression, FiveFieldsAreThoseOfCrontab) {
  EXPECT_EQ(next("*/15 * * * *", "2026-01-01T00:01:00Z"), "2026-01-01T00:15:00");
  EXPECT_EQ(next("0 0 * * 0", "2026-01-01T00:00:00Z"), "2026-01-04T00:00:00");
  EXPECT_EQ(next("0 0 * * 7", "2026-01-01T00:00:00Z"), "2026-01-04T00:00:00");
  EXPECT_EQ(next("0 0 * * sun", "2026-01-01T00:00:00Z"), "2026-01-04T00:00:00");
  EXPECT_EQ(next("0 0 * * 1", "2026-01-01T00:00:00Z"), "2026-01-05T00:00:00");
  // A day fits if one of two restricted fields does.
  EXPECT_EQ(next("0 0 13 * 5", "2026-01-01T00:00:00Z"), "2026-01-02T00:00:00");
  EXPECT_EQ(next("0 0 13 * *", "2026-01-01T00:00:00Z"), "2026-01-13T00:00:00");
}

TEST(CronExpression, Shorthands) {
  EXPECT_EQ(next("@hourly", "2026-03-03T10:59:59Z"), "2026-03-03T11:00:00");
  EXPECT_EQ(next("@daily", "2026-03-03T10:00:00Z"), "2026-03-04T00:00:00");
  EXPECT_EQ(next("@midnight", "2026-03-03T10:00:00Z"), "2026-03-04T00:00:00");
  EXPECT_EQ(next(" @Weekly ", "2026-03-03T10:00:00Z"), "2026-03-08T00:00:00");
  EXPECT_EQ(next("@monthly", "2026-03-03T10:00:00Z"), "2026-04-01T00:00:00");
  EXPECT_EQ(next("@yearly", "2026-03-03T10:00:00Z"), "2027-01-01T00:00:00");
  EXPECT_EQ(next("@annually", "2026-03-03T10:00:00Z"), "2027-01-01T00:00:00");
}

TEST(CronExpression, RefusesWhatIsNone) {
  for (const std::string_view wrong : {"",
                                       "*",
                                       "* * * *",
                                       "* * * * * * * *",
                                       "60 * * * * *",
                                       "* * 24 * * *",
                                       "* * * 0 * *",
                                       "* * * 32 * *",
                                       "* * * * 13 *",
                                       "* * * * * 0",
                                       "* * * * * 8",
                                       "a * * * * *",
                                       "* * * * Foo *",
                                       "5-1 * * * * *",
                                       "*/0 * * * * *",
                                       "*/-1 * * * * *",
                                       "*/ * * * * *",
                                       ", * * * * *",
                                       "1, * * * * *",
                                       "1- * * * * *",
                                       "-1 * * * * *",
                                       "1-2-3 * * * * *",
                                       "@reboot",
                                       "0 0 0 30 2 *",
                                       "0 0 0 31 4,6,9,11 *",
                                       "0 0 0 29 2 * 2027",
                                       "* * * L * *",
                                       "99999999999999999999 * * * * *"}) {
    const Result<Expression> parsed = Expression::parse(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_TRUE(parsed.error().message.starts_with("Invalid cron expression")) << parsed.error().message;
  }
  for (const int year : {kFirstYear - 1, kLastYear + 1})
    EXPECT_FALSE(Expression::parse(fmt::format("* * * * * * {}", year)));
  for (const int year : {kFirstYear, kLastYear})
    EXPECT_TRUE(Expression::parse(fmt::format("* * * * * * {}", year)));
  const Result<Expression> long_one =
      Expression::parse("* * * * * *" + std::string(kMaxExpressionBytes, ' '));
  ASSERT_FALSE(long_one);
  EXPECT_EQ(long_one.error().code, Code::kTooLarge);
  EXPECT_TRUE(Expression::parse("*/2147483647 * * * * *"));
  EXPECT_NE(next("* * * * Foo *", "2026-01-01T00:00:00Z").find("month"), std::string::npos);
}

TEST(CronZones, RunsByTheClockOfThePlace) {
  EXPECT_EQ(next("0 0 9 * * *", "2026-01-01T00:00:00Z", "Europe/Berlin"), "2026-01-01T08:00:00");
  EXPECT_EQ(next("0 0 9 * * *", "2026-07-01T00:00:00Z", "Europe/Berlin"), "2026-07-01T07:00:00");
  EXPECT_EQ(next("0 0 9 * * *", "2026-07-01T00:00:00Z", "asia/kolkata"), "2026-07-01T03:30:00");
  EXPECT_NE(next("0 0 9 * * *", "2026-07-01T00:00:00Z", "Mars/Olympus").find("Mars/Olympus"),
            std::string::npos);
  EXPECT_EQ(next("0 0 0 29 2 *", "2026-07-01T00:00:00Z", "Europe/Berlin"), "2028-02-28T23:00:00");
  EXPECT_EQ(next("0 0 0 1 1 * 2100", "1970-01-01T00:00:00Z", "Africa/Casablanca"), "2099-12-31T23:00:00");
  EXPECT_EQ(next("0 0 0 1 1 * 2026", "2026-07-01T00:00:00Z", "Europe/Berlin"), "never");
}

TEST(CronZones, ClocksPutForward) {  // 2026-03-29 02:00 becomes 03:00
  EXPECT_EQ(next("0 30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin"), "2026-03-29T01:00:00");
  EXPECT_EQ(next("0 30 2 * * *", "2026-03-29T01:00:00Z", "Europe/Berlin"), "2026-03-30T00:30:00");
  EXPECT_EQ(next("0 30 * * * *", "2026-03-29T00:30:00Z", "Europe/Berlin"), "2026-03-29T01:30:00");
}

TEST(CronZones, ClocksPutBack) {  // 2026-10-25 03:00 becomes 02:00
  EXPECT_EQ(next("0 30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Berlin"), "2026-10-25T00:30:00");
  EXPECT_EQ(next("0 30 2 * * *", "2026-10-25T00:30:00Z", "Europe/Berlin"), "2026-10-26T01:30:00");
  EXPECT_EQ(next("0 30 2 * * *", "2026-10-25T01:10:00Z", "Europe/Berlin"), "2026-10-26T01:30:00");
  EXPECT_EQ(next("0 30 * * * *", "2026-10-25T00:30:00Z", "Europe/Berlin"), "2026-10-25T01:30:00");
}

// What a field says, worked out another way than the parser does.
struct Plain {
  std::string text;
  std::set<int> values;
};

rc::Gen<Plain> field(int min, int max) {
  return rc::gen::exec([min, max] {
    if (*rc::gen::inRange(0, 3) == 0) {
      Plain all{.text = "*", .values = {}};
      for (int v = min; v <= max; ++v) all.values.insert(v);
      return all;
    }
    Plain out;
    const int items = *rc::gen::inRange(1, 4);
    for (int i = 0; i < items; ++i) {
      const int low = *rc::gen::inRange(min, max + 1);
      const int high = *rc::gen::inRange(low, max + 1);
      const int step = *rc::gen::inRange(1, 20);
      out.text += (i == 0 ? "" : ",") + fmt::format("{}-{}/{}", low, high, step);
      for (int v = low; v <= high; v += step) out.values.insert(v);
    }
    return out;
  });
}

TEST(CronExpression, AgreesWithTryingEverySecond) {
  EXPECT_TRUE(rc::check("the next run is the first second that fits", [] {
    const Plain second = *field(0, 59), minute = *field(0, 59), hour = *field(0, 23), day = *field(1, 31),
                month = *field(1, 12), weekday = *field(1, 7);
    const std::string text = fmt::format("{} {} {} {} {} {}", second.text, minute.text, hour.text, day.text,
                                         month.text, weekday.text);
    const Result<Expression> parsed = Expression::parse(text);
    RC_PRE(parsed.has_value());  // there may be no such day
    const LocalSeconds from = *rc::gen::inRange<LocalSeconds>(0, 130LL * 365 * 86'400);
    const auto fits = [&](LocalSeconds at) {
      const CivilTime c = to_civil(at * 1000);
      return second.values.contains(c.second) && minute.values.contains(c.minute) &&
             hour.values.contains(c.hour) && day.values.contains(c.day) && month.values.contains(c.month) &&
             weekday.values.contains(c.weekday + 1);
    };
    const std::optional<LocalSeconds> found = parsed->first_at(from);
    if (found) RC_ASSERT(*found >= from && fits(*found));
    const LocalSeconds look = std::min<LocalSeconds>(found.value_or(from + 20'000), from + 20'000);
    const LocalSeconds end = from_civil({.year = kLastYear + 1, .month = 1, .day = 1}) / 1000;
    for (LocalSeconds at = from; at < std::min(look, end); ++at) RC_ASSERT(!fits(at));
  }));
}

// At each clock change of some zones: a time of day runs exactly once a day, an hourly job at each hour that comes.
TEST(CronZones, EveryDayHasOneRunWhateverTheClockDoes) {
  for (const std::string_view zone : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                      "America/St_Johns", "Africa/Casablanca"}) {
    for (const std::string_view expression :
         {"0 30 1 * * *", "0 15 2 * * *", "0 0 3 * * *", "30 45 23 * * *"}) {
      const Result<Expression> parsed = Expression::parse(expression);
      ASSERT_TRUE(parsed);
      UnixMs now = at("2025-12-31T12:00:00Z");
      int runs = 0;
      for (;; ++runs) {
        const Result<std::optional<UnixMs>> run = next_run(*parsed, zone, now);
        ASSERT_TRUE(run && *run);
        ASSERT_GT(**run, now);
        if (**run > at("2027-12-31T12:00:00Z")) break;
        now = **run;
      }
      EXPECT_EQ(runs, 730) << zone << " " << expression;
    }
    const Result<Expression> hourly = Expression::parse("@hourly");
    UnixMs now = at("2026-01-01T00:00:00Z");
    int runs = 0;
    for (; now < at("2027-01-01T00:00:00Z"); ++runs) {
      const Result<std::optional<UnixMs>> run = next_run(*hourly, zone, now);
      ASSERT_TRUE(run && *run);
      ASSERT_LE(**run - now, 2 * 3'600'000);
      now = **run;
    }
    // Where clocks move by half an hour the full hours do too.
    EXPECT_NEAR(runs, 8760, 2) << zone;
  }
}

}  // namespace
}  // namespace chela::bus::cron
