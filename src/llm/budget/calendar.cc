#include "llm/budget/calendar.h"

#include "base/strings.h"
#include "base/time_zone.h"

namespace chela::llm::budget {
namespace {

CivilTime civil_in(UnixMs time, const std::string& zone) {
  if (zone == "UTC") return to_civil(time);
  const Result<LocalTime> local = to_local(time, zone);
  return local ? local->civil : to_civil(time);
}

UnixMs midnight(int year, int month, int day, const std::string& zone) {
  const CivilTime civil{.year = year,
                        .month = month,
                        .day = day,
                        .hour = 0,
                        .minute = 0,
                        .second = 0,
                        .millisecond = 0,
                        .weekday = 0};
  if (zone == "UTC") return from_civil(civil);
  // A day whose midnight a change of the clocks leaves out begins with that change.
  const Result<FromLocal> at = from_local(civil, zone);
  return at ? at->time : from_civil(civil);
}

}  // namespace

Span Calendar::day(UnixMs time) {
  if (day_.holds(time)) return day_;
  const CivilTime now = civil_in(time, zone_);
  // 30 h from the day's begin are in the next one, however long it is.
  constexpr UnixMs kBeyond = 30 * 3'600'000LL;
  const UnixMs begin = midnight(now.year, now.month, now.day, zone_);
  const CivilTime next = civil_in(begin + kBeyond, zone_);
  day_ = {.begin = begin, .end = midnight(next.year, next.month, next.day, zone_)};
  return day_;
}

Span Calendar::month(UnixMs time) {
  if (month_.holds(time)) return month_;
  const CivilTime now = civil_in(time, zone_);
  const bool last = now.month == 12;
  month_ = {.begin = midnight(now.year, now.month, 1, zone_),
            .end = midnight(last ? now.year + 1 : now.year, last ? 1 : now.month + 1, 1, zone_)};
  return month_;
}

std::string Calendar::date(UnixMs time) {
  const CivilTime at = civil_in(time, zone_);
  return fmt::format("{:04}-{:02}-{:02}", at.year, at.month, at.day);
}

}  // namespace chela::llm::budget
