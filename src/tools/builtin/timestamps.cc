#include <cmath>

#include "base/strings.h"
#include "base/time_zone.h"
#include "tools/builtin/time_tool.h"

namespace chela::tools {
namespace {

constexpr double kFirstMillis = 1e11;  // as seconds it would be the year 5138: such numbers are milliseconds
constexpr std::size_t kMaxShownBytes = 64;
constexpr std::size_t kMinUnixDigits = 9;  // shorter text like "2026" is more likely a year or a clumsy date
constexpr std::size_t kDateBytes = 10;     // "2026-11-22"

Failure not_understood(std::string_view text) {
  return fail(
      Code::kInvalidArgument,
      "'{}' is no time such as 2026-11-22T10:00:00Z, 2026-11-22 10:00, 2026-11-22, now or Unix seconds",
      text.substr(0, kMaxShownBytes));
}

Result<UnixMs> from_number(double number, std::string_view text) {
  constexpr double kLimit = 9e15;
  if (!(std::fabs(number) < kLimit)) return not_understood(text);
  return std::llround(std::fabs(number) < kFirstMillis ? number * 1000 : number);
}

// Date and time of day in RFC 3339's form, missing parts filled in; the offset apart, "" when there is none.
struct Parts {
  std::string clock;
  std::string offset;
};

Parts split(std::string_view text) {
  std::string_view day = text.substr(0, kDateBytes);
  std::string_view time =
      strings::trim(text.size() > kDateBytes ? text.substr(kDateBytes + 1) : std::string_view());
  Parts parts;
  for (const std::string_view utc : {"UTC", "GMT", "Z", "z"}) {
    if (time.ends_with(utc)) {
      parts.offset = "Z";
      time = strings::trim(time.substr(0, time.size() - utc.size()));
    }
  }
  if (const std::size_t sign = time.find_first_of("+-"); sign != std::string_view::npos) {
    parts.offset = time.substr(sign);
    time = strings::trim(time.substr(0, sign));
    if (parts.offset.size() == 5) parts.offset.insert(3, ":");  // +0100
    if (parts.offset.size() == 3) parts.offset += ":00";        // +01
  }
  std::string of_day(time);
  if (of_day.empty()) of_day = "00:00";
  if (of_day.size() == 5) of_day += ":00";
  parts.clock = fmt::format("{}T{}", day, of_day);
  return parts;
}

}  // namespace

Result<UnixMs> parse_timestamp(const json::Value& value, std::string_view zone, UnixMs now) {
  if (const std::optional<double> number = value.as_double()) return from_number(*number, json::write(value));
  const std::string* given = value.as_string();
  if (given == nullptr) return not_understood(json::write(value));
  const std::string_view text = strings::trim(*given);
  if (strings::iequals(text, "now")) return now;
  const auto number = strings::parse_int<std::int64_t>(text);
  if (number && text.size() < kMinUnixDigits) return not_understood(text);
  if (number) return from_number(static_cast<double>(*number), text);
  const Parts parts = split(text);
  const Result<UnixMs> time = parse_rfc3339(parts.clock + (parts.offset.empty() ? "Z" : parts.offset));
  if (!time) return not_understood(text);
  if (!parts.offset.empty() || zone.empty()) return time;
  const Result<FromLocal> local = from_local(to_civil(*time), zone);
  if (!local) return fail(local.error());
  return local->time;
}

std::string duration_words(std::int64_t seconds) {
  std::string out;
  const std::pair<std::int64_t, std::string_view> units[] = {
      {86'400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
  const bool negative = seconds < 0;
  std::int64_t rest = std::abs(seconds);
  for (const auto& [size, name] : units) {
    const std::int64_t count = rest / size;
    rest %= size;
    if (count > 0)
      out += fmt::format("{}{} {}{}", out.empty() ? "" : " ", count, name, count == 1 ? "" : "s");
  }
  if (out.empty()) return "0 seconds";
  return negative ? "minus " + out : out;
}

}  // namespace chela::tools
