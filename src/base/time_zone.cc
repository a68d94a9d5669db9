#include "base/time_zone.h"

#include <algorithm>
#include <stdexcept>

#include "base/strings.h"

// The library is built with these, and its header must agree.
#define USE_OS_TZDB 1
#define ONLY_C_LOCALE 1
#define HAS_STRING_VIEW 1
#include <date/tz.h>

namespace chela {
namespace {

using std::chrono::milliseconds;

constexpr UnixMs kFirst = -62'135'596'800'000;  // 0001-01-01T00:00:00Z
constexpr UnixMs kLast = 253'402'300'799'999;   // 9999-12-31T23:59:59.999Z
constexpr size_t kMaxSimilarZones = 5;
constexpr size_t kMaxShownName = 64;

date::sys_time<milliseconds> point(UnixMs time) { return date::sys_time<milliseconds>(milliseconds(time)); }

Result<> check_range(UnixMs time) {
  if (time < kFirst || time > kLast)
    return fail(Code::kInvalidArgument, "{} ms is outside the years 1 to 9999", time);
  return {};
}

// "tokyo" and "japan/tokyo" are similar to "Asia/Tokyo".
Failure unknown_zone(const date::tzdb& data, std::string_view name) {
  const std::string wanted = strings::lower(name.substr(name.rfind('/') + 1));
  std::string similar;
  size_t count = 0;
  for (const date::time_zone& zone : data.zones) {
    if (wanted.size() < 3 || !strings::lower(zone.name()).contains(wanted)) continue;
    similar += (similar.empty() ? "; similar: " : ", ") + zone.name();
    if (++count == kMaxSimilarZones) break;
  }
  return fail(Code::kNotFound, "'{}' is no IANA time zone such as Europe/Berlin{}",
              name.substr(0, kMaxShownName), similar);
}

Result<const date::time_zone*> find_zone(std::string_view name) {
  const date::tzdb& data = date::get_tzdb();
  for (const date::time_zone& zone : data.zones) {
    if (strings::iequals(zone.name(), name)) return &zone;
  }
  return unknown_zone(data, name);
}

// Runs `work(zone)`; the library reports missing or broken zone data and bad formats by exceptions.
template <class Work>
auto with_zone(std::string_view name, Work work) -> std::invoke_result_t<Work, const date::time_zone&> {
  try {
    const Result<const date::time_zone*> zone = find_zone(name);
    if (!zone) return fail(zone.error());
    return work(**zone);
  } catch (const std::exception& error) {
    return fail(Code::kUnavailable, "the time zone data cannot be read ({}); install the package tzdata",
                error.what());
  }
}

}  // namespace

Result<LocalTime> to_local(UnixMs time, std::string_view zone_name) {
  if (const Result<> ok = check_range(time); !ok) return fail(ok.error());
  return with_zone(zone_name, [time](const date::time_zone& zone) -> Result<LocalTime> {
    const date::sys_info info = zone.get_info(point(time));
    const auto offset = std::chrono::duration_cast<std::chrono::seconds>(info.offset).count();
    return LocalTime{to_civil(time + offset * 1000), static_cast<int>(offset), info.abbrev, zone.name()};
  });
}

Result<FromLocal> from_local(const CivilTime& civil, std::string_view zone_name) {
  const UnixMs as_utc = from_civil(civil);
  if (const Result<> ok = check_range(as_utc); !ok) return fail(ok.error());
  return with_zone(zone_name, [as_utc](const date::time_zone& zone) -> Result<FromLocal> {
    const date::local_time<milliseconds> local{milliseconds(as_utc)};
    const date::local_info info = zone.get_info(local);
    const LocalMatch match = info.result == date::local_info::unique      ? LocalMatch::kOnce
                             : info.result == date::local_info::ambiguous ? LocalMatch::kTwice
                                                                          : LocalMatch::kSkipped;
    return FromLocal{zone.to_sys(local, date::choose::earliest).time_since_epoch().count(), match};
  });
}

Result<ZonePeriod> zone_period(UnixMs time, std::string_view zone_name) {
  if (const Result<> ok = check_range(time); !ok) return fail(ok.error());
  return with_zone(zone_name, [time](const date::time_zone& zone) -> Result<ZonePeriod> {
    const date::sys_info info = zone.get_info(point(time));
    // The ends of time are years that milliseconds cannot hold.
    const auto bounded = [](const date::sys_seconds& at) {
      const auto seconds =
          std::clamp<std::int64_t>(at.time_since_epoch().count(), kFirst / 1000, kLast / 1000 + 1);
      return seconds * 1000;
    };
    return ZonePeriod{bounded(info.begin), bounded(info.end), static_cast<int>(info.offset.count())};
  });
}

std::string format_rfc3339(const LocalTime& local) {
  const CivilTime& c = local.civil;
  const int minutes = std::abs(local.offset_seconds) / 60;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}{}{:02}:{:02}", c.year, c.month, c.day, c.hour,
                     c.minute, c.second, c.millisecond, local.offset_seconds < 0 ? '-' : '+', minutes / 60,
                     minutes % 60);
}

Result<std::string> format_time(UnixMs time, std::string_view zone_name, const std::string& format) {
  if (const Result<> ok = check_range(time); !ok) return fail(ok.error());
  return with_zone(zone_name, [time, &format](const date::time_zone& zone) -> Result<std::string> {
    // Whole seconds: %S of a finer clock would print a fraction.
    const auto seconds = std::chrono::floor<std::chrono::seconds>(point(time));
    try {
      return date::format(format, date::zoned_time<std::chrono::seconds>(&zone, seconds));
    } catch (const std::ios_base::failure&) {
      return fail(Code::kInvalidArgument, "'{}' is no time format such as %Y-%m-%d %H:%M",
                  format.substr(0, kMaxShownName));
    }
  });
}

}  // namespace chela
