#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chela::strings {

std::string_view trim(std::string_view text);  // ASCII white space off both ends
std::string lower(std::string_view text);      // ASCII only
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string replace_all(std::string text, std::string_view from, std::string_view to);
bool iequals(std::string_view a, std::string_view b);  // ASCII only
bool constant_time_equals(std::string_view a, std::string_view b);

// A whole number that fills the text, or nothing.
template <class Int>
std::optional<Int> parse_int(std::string_view text) {
  Int value{};
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Lets unordered maps look a std::string key up by string_view.
struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

}  // namespace chela::strings
