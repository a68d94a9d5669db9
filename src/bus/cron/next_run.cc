#include "bus/cron/next_run.h"

#include <algorithm>

#include "base/strings.h"
#include "base/time_zone.h"

namespace chela::bus::cron {
namespace {

constexpr UnixMs kSecond = 1000;

LocalSeconds local_begin(const ZonePeriod& period) { return period.begin / kSecond + period.offset_seconds; }
LocalSeconds local_end(const ZonePeriod& period) { return period.end / kSecond + period.offset_seconds; }
UnixMs moment(LocalSeconds local, const ZonePeriod& period) {
  return (local - period.offset_seconds) * kSecond;
}

}  // namespace

Result<std::optional<UnixMs>> next_run(const Expression& expression, std::string_view zone, UnixMs after) {
  const LocalSeconds first = std::max<UnixMs>(after, -kSecond) / kSecond + 1;
  if (strings::iequals(zone, "UTC")) {
    const std::optional<LocalSeconds> found = expression.first_at(first);
    return found ? std::optional(*found * kSecond) : std::nullopt;
  }
  Result<ZonePeriod> period = zone_period(first * kSecond, zone);
  if (!period) return fail(period.error());
  LocalSeconds from = first + period->offset_seconds;
  if (!expression.every_hour()) {
    // What the clock shows for the second time has had its run.
    const Result<ZonePeriod> before = zone_period(period->begin - 1, zone);
    if (before) from = std::max(from, local_end(*before));
  }
  // Ends at the latest with the expression, which has no moment after kLastYear.
  while (true) {
    const std::optional<LocalSeconds> found = expression.first_at(from);
    if (!found) return std::nullopt;
    if (*found < local_end(*period)) return moment(*found, *period);
    Result<ZonePeriod> next = zone_period(period->end, zone);
    if (!next) return fail(next.error());
    if (!expression.every_hour() && *found < local_begin(*next)) return next->begin;
    from = expression.every_hour() ? local_begin(*next) : std::max(local_end(*period), local_begin(*next));
    period = std::move(next);
  }
}

}  // namespace chela::bus::cron
