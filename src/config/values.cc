#include "config/values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/strings.h"
#include "base/time.h"

namespace chela::config {
namespace {

std::optional<bool> read_bool(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "yes", "on"}) {
    if (strings::iequals(text, yes)) return true;
  }
  for (const std::string_view no : {"false", "0", "no", "off"}) {
    if (strings::iequals(text, no)) return false;
  }
  return std::nullopt;
}

std::optional<double> read_number(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> read_bytes(std::string_view text) {
  std::int64_t unit = 1;
  for (const auto& [name, size] : {std::pair<std::string_view, std::int64_t>{"KiB", 1024},
                                   {"MiB", 1024 * 1024},
                                   {"GiB", 1024 * 1024 * 1024},
                                   {"B", 1}}) {
    if (text.ends_with(name)) {
      text = strings::trim(text.substr(0, text.size() - name.size()));
      unit = size;
      break;
    }
  }
  const auto number = strings::parse_int<std::int64_t>(text);
  if (!number || *number < 0 || *number > INT64_MAX / unit) return std::nullopt;
  return *number * unit;
}

bool in_range(const Key& key, double value) {
  return (!key.min || value >= static_cast<double>(*key.min)) &&
         (!key.max || value <= static_cast<double>(*key.max));
}

// The value as a number where the type has a range, NaN where it cannot be read.
double measure(const Key& key, std::string_view text) {
  const auto or_nan = [](const auto& value) { return value ? static_cast<double>(*value) : std::nan(""); };
  switch (key.type) {
    case Type::kInt:
      return or_nan(strings::parse_int<std::int64_t>(text));
    case Type::kNumber:
      return or_nan(read_number(text));
    case Type::kBytes:
      return or_nan(read_bytes(text));
    case Type::kDuration: {
      const Result<std::chrono::milliseconds> duration = parse_duration(text);
      return duration ? static_cast<double>(duration->count()) : std::nan("");
    }
    default:
      return 0;
  }
}

std::string range_text(const Key& key) {
  const auto show = [&key](std::int64_t value) {
    return key.type == Type::kDuration ? format_duration(std::chrono::milliseconds(value))
                                       : std::to_string(value);
  };
  if (key.min && key.max) return fmt::format(" from {} to {}", show(*key.min), show(*key.max));
  return {};
}

std::string expected_text(const Key& key) {
  if (key.type == Type::kChoice) {
    std::vector<std::string> words(key.choices.begin(), key.choices.end());
    return "one of " + strings::join(words, ", ");
  }
  return std::string(type_text(key.type)) + range_text(key);
}

}  // namespace

Result<> check_value(const Key& key, std::string_view text) {
  bool good = text.find('\0') == std::string_view::npos;
  switch (key.type) {
    case Type::kBool:
      good = read_bool(text).has_value();
      break;
    case Type::kChoice:
      good = std::find(key.choices.begin(), key.choices.end(), text) != key.choices.end();
      break;
    case Type::kInt:
    case Type::kNumber:
    case Type::kBytes:
    case Type::kDuration: {
      const double value = measure(key, text);
      good = !std::isnan(value) && in_range(key, value);
      break;
    }
    case Type::kSecret:
      if (is_secret_reference(text) && key.name == "secrets.master_key")
        return fail(Code::kInvalidArgument, "{} opens the vault and cannot lie in it", key.name);
      good = good && text != kSecretReference;
      break;
    case Type::kString:
    case Type::kList:
      break;
  }
  if (good) return {};
  if (key.type == Type::kSecret)
    return fail(Code::kInvalidArgument, "{} must be {}", key.name, expected_text(key));
  return fail(Code::kInvalidArgument, "{} must be {}, not '{}'", key.name, expected_text(key), text);
}

std::int64_t int_value(std::string_view text) { return strings::parse_int<std::int64_t>(text).value_or(0); }
double number_value(std::string_view text) { return read_number(text).value_or(0); }
bool bool_value(std::string_view text) { return read_bool(text).value_or(false); }
std::int64_t bytes_value(std::string_view text) { return read_bytes(text).value_or(0); }

std::vector<std::string> list_value(std::string_view text) {
  std::vector<std::string> items;
  if (strings::trim(text).empty()) return items;
  for (const std::string_view part : strings::split(text, ',')) items.emplace_back(strings::trim(part));
  return items;
}

}  // namespace chela::config
