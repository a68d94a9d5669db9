#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

// Local time by the system's IANA time zone data. The data is read from disk on first use of a zone (some milliseconds), so callers
// on the loop go through runtime::Pool. An unknown zone is kNotFound and names similar ones; times outside the years 1..9999 are
// kInvalidArgument; without zone data on the machine it is kUnavailable.
namespace chela {

struct LocalTime {
  CivilTime civil;
  int offset_seconds;        // local = UTC + offset
  std::string abbreviation;  // "CET"
  std::string zone;          // as the zone data spells it: "Europe/Berlin"
};
Result<LocalTime> to_local(UnixMs time, std::string_view zone);

enum class LocalMatch { kOnce, kTwice, kSkipped };  // a clock change repeats or skips some local times
struct FromLocal {
  UnixMs time;  // kTwice: the earlier; kSkipped: the moment of the change
  LocalMatch match;
};
Result<FromLocal> from_local(const CivilTime& civil, std::string_view zone);

// A time in which a zone's clock has one offset. Within the years 1..9999.
struct ZonePeriod {
  UnixMs begin;
  UnixMs end;  // not included
  int offset_seconds;
};
Result<ZonePeriod> zone_period(UnixMs time, std::string_view zone);

// "2026-11-22T11:00:00.000+01:00"
std::string format_rfc3339(const LocalTime& local);

// strftime's notation: "%A, %d %B %Y %H:%M %Z". Names of days and months are English.
Result<std::string> format_time(UnixMs time, std::string_view zone, const std::string& format);

}  // namespace chela
