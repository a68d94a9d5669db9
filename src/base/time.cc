#include "base/time.h"

#include <array>

#include "base/strings.h"

namespace chela {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::sys_days;

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array kUnits{Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000},
                            Unit{"d", 86'400'000}};

Failure bad_time(std::string_view text) {
  return fail(Code::kInvalidArgument, "'{}' is no RFC 3339 time such as 2026-11-22T10:00:00Z", text);
}

// Two or four decimal digits at `at`, or -1.
int digits(std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

CivilTime to_civil(UnixMs time) {
  const std::chrono::sys_time<milliseconds> point{milliseconds(time)};
  const sys_days day = std::chrono::floor<days>(point);
  const std::chrono::year_month_day ymd{day};
  auto rest = (point - day).count();
  CivilTime c{};
  c.year = static_cast<int>(ymd.year());
  c.month = static_cast<int>(static_cast<unsigned>(ymd.month()));
  c.day = static_cast<int>(static_cast<unsigned>(ymd.day()));
  c.weekday = static_cast<int>(std::chrono::weekday{day}.c_encoding());
  c.millisecond = static_cast<int>(rest % 1000);
  rest /= 1000;
  c.second = static_cast<int>(rest % 60);
  c.minute = static_cast<int>(rest / 60 % 60);
  c.hour = static_cast<int>(rest / 3600);
  return c;
}

UnixMs from_civil(const CivilTime& c) {
  const sys_days day = std::chrono::year{c.year} / std::chrono::month{static_cast<unsigned>(c.month)} /
                       std::chrono::day{static_cast<unsigned>(c.day)};
  return milliseconds(day.time_since_epoch()).count() + c.hour * 3'600'000LL + c.minute * 60'000LL +
         c.second * 1000LL + c.millisecond;
}

std::string format_rfc3339(UnixMs time) {
  const CivilTime c = to_civil(time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", c.year, c.month, c.day, c.hour, c.minute,
                     c.second, c.millisecond);
}

Result<UnixMs> parse_rfc3339(std::string_view text) {
  CivilTime c{};
  c.year = digits(text, 0, 4);
  c.month = digits(text, 5, 2);
  c.day = digits(text, 8, 2);
  c.hour = digits(text, 11, 2);
  c.minute = digits(text, 14, 2);
  c.second = digits(text, 17, 2);
  if (c.year < 0 || c.month < 1 || c.month > 12 || c.day < 1 || c.hour < 0 || c.hour > 23 || c.minute < 0 ||
      c.minute > 59 || c.second < 0 || c.second > 60 || text[4] != '-' || text[7] != '-' || text[13] != ':' ||
      text[16] != ':' || (text[10] != 'T' && text[10] != 't' && text[10] != ' ')) {
    return bad_time(text);
  }
  const std::chrono::year_month_day ymd{std::chrono::year{c.year},
                                        std::chrono::month{static_cast<unsigned>(c.month)},
                                        std::chrono::day{static_cast<unsigned>(c.day)}};
  if (!ymd.ok()) return bad_time(text);
  size_t at = 19;
  if (at < text.size() && text[at] == '.') {
    ++at;
    size_t count = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++count) {
      if (count < 3) c.millisecond = c.millisecond * 10 + (text[at] - '0');
    }
    if (count == 0 || count > 9) return bad_time(text);
    for (; count < 3; ++count) c.millisecond *= 10;
  }
  if (at >= text.size()) return bad_time(text);
  std::int64_t offset_minutes = 0;
  if (text[at] == 'Z' || text[at] == 'z') {
    ++at;
  } else if (text[at] == '+' || text[at] == '-') {
    const int hours = digits(text, at + 1, 2);
    const int minutes = digits(text, at + 4, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || text[at + 3] != ':') return bad_time(text);
    offset_minutes = (hours * 60 + minutes) * (text[at] == '-' ? -1 : 1);
    at += 6;
  }
  if (at != text.size()) return bad_time(text);
  return from_civil(c) - offset_minutes * 60'000;
}

Result<milliseconds> parse_duration(std::string_view text) {
  const std::string_view whole = strings::trim(text);
  size_t at = 0;
  while (at < whole.size() && whole[at] >= '0' && whole[at] <= '9') ++at;
  const auto number = strings::parse_int<std::int64_t>(whole.substr(0, at));
  for (const Unit& unit : kUnits) {
    if (number && whole.substr(at) == unit.name && *number <= INT64_MAX / unit.ms)
      return milliseconds(*number * unit.ms);
  }
  return fail(Code::kInvalidArgument, "'{}' is no duration such as 250ms, 30s, 5m, 2h or 7d", text);
}

std::string format_duration(milliseconds duration) {
  for (size_t i = kUnits.size(); i-- > 0;) {
    if (duration.count() % kUnits[i].ms == 0 && duration.count() != 0) {
      return fmt::format("{}{}", duration.count() / kUnits[i].ms, kUnits[i].name);
    }
  }
  return "0s";
}

}  // namespace chela
