#include "llm/budget/calendar.h"

#include <gtest/gtest.h>

namespace chela::llm::budget {
namespace {

UnixMs at(std::string_view text) { return *parse_rfc3339(text); }

TEST(Calendar, DaysAreAsLongAsTheZoneHasThem) {
  Calendar berlin("Europe/Berlin");
  const Span spring = berlin.day(at("2026-03-29T12:00:00Z"));
  EXPECT_EQ(spring.end - spring.begin, 23 * 3'600'000LL);
  const Span autumn = berlin.day(at("2026-10-25T12:00:00Z"));
  EXPECT_EQ(autumn.end - autumn.begin, 25 * 3'600'000LL);
  EXPECT_EQ(berlin.date(at("2026-10-24T22:30:00Z")), "2026-10-25");
  Calendar utc("UTC");
  EXPECT_EQ(utc.day(at("2026-02-28T23:59:59.999Z")).end, at("2026-03-01T00:00:00Z"));
  EXPECT_EQ(utc.day(at("2026-02-28T00:00:00Z")).begin, at("2026-02-28T00:00:00Z"));
}

TEST(Calendar, MonthsEndWithTheYearToo) {
  Calendar calendar("Asia/Kathmandu");
  const Span december = calendar.month(at("2026-12-31T18:14:59Z"));
  EXPECT_EQ(december.end, at("2026-12-31T18:15:00Z"));
  EXPECT_EQ(calendar.month(december.end).begin, december.end);
  EXPECT_EQ(Calendar("UTC").month(0).end, 31 * 86'400'000LL);
}

TEST(Calendar, AZoneThatThereIsNoneOfIsUtc) {
  EXPECT_EQ(Calendar("Nowhere/Land").day(1).begin, 0);
  EXPECT_EQ(Calendar("Nowhere/Land").date(1), "1970-01-01");
}

}  // namespace
}  // namespace chela::llm::budget
