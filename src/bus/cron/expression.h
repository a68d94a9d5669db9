#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "bus/cron/limits.h"

namespace chela::bus::cron {

// Seconds since 1970-01-01 00:00:00 by the clock of some place, whatever its offset.
using LocalSeconds = std::int64_t;

// Which seconds of the calendar a job runs at. Six or seven fields (second, minute, hour, day of month, month, weekday 1 to 7 = Sunday to
// Saturday, year), where a day must fit both day fields; or the five of crontab (minute first, weekday 0 to 7, both 0 and 7 Sunday), where a day fits
// if one of two restricted day fields does; or @yearly, @monthly, @weekly, @daily, @hourly. A field is a list of `*`, `?`, values, names, ranges,
// each with an optional step.
class Expression {
 public:
  // kInvalidArgument says which field is wrong, or that no such moment exists.
  static Result<Expression> parse(std::string_view text);

  // The first second that fits, `from` included; nothing when there is none up to the end of kLastYear.
  std::optional<LocalSeconds> first_at(LocalSeconds from) const;

  // Runs by the hour, not at hours of the day: when clocks change it goes on evenly.
  bool every_hour() const { return hours_.all(); }

 private:
  enum class Days { kBoth, kEither };

  Expression() = default;
  bool has_day(int day, int weekday) const;
  std::optional<int> first_time(int from) const;  // of a day, in seconds
  std::optional<LocalSeconds> first_in_month(int year, int month, int from_day, int from_time) const;

  std::bitset<60> seconds_, minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;  // 0 = Sunday
  std::bitset<kLastYear - kFirstYear + 1> years_;
  Days rule_ = Days::kBoth;
};

}  // namespace chela::bus::cron
