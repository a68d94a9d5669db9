#include "bus/cron/expression.h"

#include <array>
#include <span>
#include <vector>

#include "base/strings.h"
#include "base/time.h"

namespace chela::bus::cron {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"january",   "february", "march",    "april",
                                                   "may",       "june",     "july",     "august",
                                                   "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 7> kWeekdays{"sunday",   "monday", "tuesday", "wednesday",
                                                    "thursday", "friday", "saturday"};
constexpr size_t kShortName = 3;
constexpr int kSecondsOfDay = 86'400;
constexpr int kSecondsOfHour = 3600;

struct Field {
  std::string_view name;
  int min, max;
  std::span<const std::string_view> names = {};
  int first_name = 0;  // the value of names[0]
};
constexpr Field kSecond{.name = "second", .min = 0, .max = 59};
constexpr Field kMinute{.name = "minute", .min = 0, .max = 59};
constexpr Field kHour{.name = "hour", .min = 0, .max = 23};
constexpr Field kDay{.name = "day of month", .min = 1, .max = 31};
constexpr Field kMonth{.name = "month", .min = 1, .max = 12, .names = kMonths, .first_name = 1};
constexpr Field kWeekday{.name = "weekday", .min = 1, .max = 7, .names = kWeekdays, .first_name = 1};
constexpr Field kCrontabWeekday{.name = "weekday", .min = 0, .max = 7, .names = kWeekdays, .first_name = 0};
constexpr Field kYear{.name = "year", .min = kFirstYear, .max = kLastYear};

Failure wrong(std::string_view text, const Field& field, std::string_view why) {
  return fail(Code::kInvalidArgument, "'{}' is no {}: {}", text, field.name, why);
}

Result<int> parse_value(std::string_view text, const Field& field) {
  if (const std::optional<int> number = strings::parse_int<int>(text)) {
    if (*number < field.min || *number > field.max)
      return wrong(text, field, fmt::format("it must be {} to {}", field.min, field.max));
    return *number;
  }
  const std::string name = strings::lower(text);
  for (size_t i = 0; i < field.names.size(); ++i) {
    if (name == field.names[i] || name == field.names[i].substr(0, kShortName))
      return field.first_name + static_cast<int>(i);
  }
  return wrong(text, field, field.names.empty() ? "it must be a number" : "it must be a number or a name");
}

// Calls `add` with each value of one item of a list: "*", "7", "Mon-Fri", "10-50/5", "*/15".
template <class Add>
Result<> parse_item(std::string_view item, const Field& field, const Add& add) {
  int step = 1;
  const size_t slash = item.find('/');
  const std::string_view base = item.substr(0, slash);
  if (slash != item.npos) {
    const std::optional<int> number = strings::parse_int<int>(item.substr(slash + 1));
    if (!number || *number < 1) return wrong(item, field, "a step must be a number from 1 on");
    step = *number;
  }
  int first = field.min;
  int last = field.max;
  if (base != "*" && base != "?") {
    const size_t dash = base.find('-');
    const Result<int> low = parse_value(base.substr(0, dash), field);
    if (!low) return fail(low.error());
    first = *low;
    if (dash != base.npos) {
      const Result<int> high = parse_value(base.substr(dash + 1), field);
      if (!high) return fail(high.error());
      last = *high;
      if (last < first) return wrong(item, field, "a range must go upward");
    } else if (slash == item.npos) {
      last = first;
    }
  }
  // The distance is taken first: a step may be as large as a number can be.
  for (int value = first;; value += step) {
    add(value);
    if (last - value < step) return {};
  }
}

template <size_t N>
Result<> parse_field(std::string_view text, const Field& field, std::bitset<N>& bits, int offset = 0) {
  for (const std::string_view item : strings::split(text, ',')) {
    const Result<> added =
        parse_item(item, field, [&](int value) { bits.set(static_cast<size_t>(value - offset)); });
    if (!added) return added;
  }
  return {};
}

std::string_view expand(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShorthands{
      {{"@yearly", "0 0 0 1 1 *"},
       {"@annually", "0 0 0 1 1 *"},
       {"@monthly", "0 0 0 1 * *"},
       {"@weekly", "0 0 0 * * 1"},
       {"@daily", "0 0 0 * * *"},
       {"@midnight", "0 0 0 * * *"},
       {"@hourly", "0 0 * * * *"}}};
  for (const auto& [name, meaning] : kShorthands) {
    if (strings::iequals(text, name)) return meaning;
  }
  return text;
}

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  while (!(text = strings::trim(text)).empty()) {
    const size_t end = std::min(text.find_first_of(" \t\r\n\v\f"), text.size());
    fields.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return fields;
}

LocalSeconds day_start(int year, int month, int day) {
  return from_civil({.year = year,
                     .month = month,
                     .day = day,
                     .hour = 0,
                     .minute = 0,
                     .second = 0,
                     .millisecond = 0,
                     .weekday = 0}) /
         1000;
}

template <size_t N>
std::optional<int> next_bit(const std::bitset<N>& bits, int from) {
  for (size_t i = static_cast<size_t>(from); i < N; ++i) {
    if (bits[i]) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace

Result<Expression> Expression::parse(std::string_view text) {
  if (text.size() > kMaxExpressionBytes)
    return fail(Code::kTooLarge, "Invalid cron expression: it has {} bytes, {} are the limit", text.size(),
                kMaxExpressionBytes);
  std::vector<std::string_view> fields = fields_of(expand(strings::trim(text)));
  const bool crontab = fields.size() == 5;
  if (fields.size() < 5 || fields.size() > 7)
    return fail(Code::kInvalidArgument,
                "Invalid cron expression '{}': it must have 6 or 7 fields (second minute hour day month "
                "weekday [year]), or the 5 of crontab",
                text);
  if (crontab) fields.insert(fields.begin(), "0");
  Expression out;
  std::bitset<8> weekdays;
  const auto parse_all = [&]() -> Result<> {
    if (Result<> ok = parse_field(fields[0], kSecond, out.seconds_); !ok) return ok;
    if (Result<> ok = parse_field(fields[1], kMinute, out.minutes_); !ok) return ok;
    if (Result<> ok = parse_field(fields[2], kHour, out.hours_); !ok) return ok;
    if (Result<> ok = parse_field(fields[3], kDay, out.days_); !ok) return ok;
    if (Result<> ok = parse_field(fields[4], kMonth, out.months_); !ok) return ok;
    if (Result<> ok = parse_field(fields[5], crontab ? kCrontabWeekday : kWeekday, weekdays); !ok) return ok;
    return parse_field(fields.size() == 7 ? fields[6] : "*", kYear, out.years_, kFirstYear);
  };
  if (const Result<> ok = parse_all(); !ok)
    return fail(Code::kInvalidArgument, "Invalid cron expression '{}': {}", text, ok.error().message);
  for (size_t i = 0; i < weekdays.size(); ++i) {
    if (weekdays[i]) out.weekdays_.set((crontab ? i : i - 1) % 7);
  }
  const auto restricted = [](std::string_view field) {
    return !field.starts_with('*') && !field.starts_with('?');
  };
  if (crontab && restricted(fields[3]) && restricted(fields[5])) out.rule_ = Days::kEither;
  if (!out.first_at(0))
    return fail(Code::kInvalidArgument, "Invalid cron expression '{}': there is no such moment from {} to {}",
                text, kFirstYear, kLastYear);
  return out;
}

bool Expression::has_day(int day, int weekday) const {
  const bool by_date = days_[static_cast<size_t>(day)];
  const bool by_weekday = weekdays_[static_cast<size_t>(weekday)];
  return rule_ == Days::kBoth ? by_date && by_weekday : by_date || by_weekday;
}

std::optional<int> Expression::first_time(int from) const {
  int minute_from = from % kSecondsOfHour / 60;
  int second_from = from % 60;
  for (std::optional<int> hour = next_bit(hours_, from / kSecondsOfHour); hour;
       hour = next_bit(hours_, *hour + 1)) {
    if (*hour != from / kSecondsOfHour) minute_from = second_from = 0;
    for (std::optional<int> minute = next_bit(minutes_, minute_from); minute;
         minute = next_bit(minutes_, *minute + 1)) {
      if (*minute != minute_from) second_from = 0;
      if (const std::optional<int> second = next_bit(seconds_, second_from))
        return *hour * kSecondsOfHour + *minute * 60 + *second;
    }
  }
  return std::nullopt;
}

std::optional<LocalSeconds> Expression::first_in_month(int year, int month, int from_day,
                                                       int from_time) const {
  const LocalSeconds begin = day_start(year, month, 1);
  const LocalSeconds end = month == 12 ? day_start(year + 1, 1, 1) : day_start(year, month + 1, 1);
  const int first_weekday = to_civil(begin * 1000).weekday;
  const int days = static_cast<int>((end - begin) / kSecondsOfDay);
  for (int day = from_day; day <= days; ++day) {
    if (!has_day(day, (first_weekday + day - 1) % 7)) continue;
    if (const std::optional<int> time = first_time(day == from_day ? from_time : 0))
      return begin + static_cast<LocalSeconds>(day - 1) * kSecondsOfDay + *time;
  }
  return std::nullopt;
}

std::optional<LocalSeconds> Expression::first_at(LocalSeconds from) const {
  if (from < 0) from = 0;
  const CivilTime start = to_civil(from * 1000);
  for (int year = start.year; year <= kLastYear; ++year) {
    if (!years_[static_cast<size_t>(year - kFirstYear)]) continue;
    const bool this_year = year == start.year;
    for (std::optional<int> month = next_bit(months_, this_year ? start.month : 1); month;
         month = next_bit(months_, *month + 1)) {
      const bool this_month = this_year && *month == start.month;
      const int time = start.hour * kSecondsOfHour + start.minute * 60 + start.second;
      if (const std::optional<LocalSeconds> found =
              first_in_month(year, *month, this_month ? start.day : 1, this_month ? time : 0))
        return found;
    }
  }
  return std::nullopt;
}

}  // namespace chela::bus::cron
