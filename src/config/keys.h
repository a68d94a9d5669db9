#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chela::config {

enum class Type { kString, kSecret, kInt, kNumber, kBool, kDuration, kBytes, kChoice, kList };

// A setting, declared once. Its environment variable is CHELA_ and the name in capitals with _ for the dot.
struct Key {
  std::string_view name;  // "gateway.port"
  Type type;
  std::string_view fallback;  // as it would stand in the environment; "" = not set
  std::string_view help;
  std::vector<std::string_view> foreign = {};  // other systems' variables that are read too, first one first
  std::vector<std::string_view> choices = {};  // kChoice
  std::optional<std::int64_t> min =
      std::nullopt;  // kInt, kNumber: the value; kBytes: bytes; kDuration: milliseconds
  std::optional<std::int64_t> max = std::nullopt;
};

std::span<const Key> keys();                 // by name
const Key* find_key(std::string_view name);  // nullptr when there is none
std::string env_name(const Key& key);        // "CHELA_GATEWAY_PORT"
std::string_view type_text(Type type);       // "a whole number", for messages

// The key that a person probably meant, or "".
std::string_view closest_key(std::string_view name);

}  // namespace chela::config
