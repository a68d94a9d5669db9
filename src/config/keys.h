#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chela::config {

enum class Type { kString, kSecret, kInt, kNumber, kBool, kDuration, kBytes, kChoice, kList };

// When a changed value counts.
enum class Reload { kAtStart, kAtOnce };
// Whether the settings table may hold the key. What has to be known before the table can be read, and secrets, stay out.
enum class InTable { kYes, kNo };

// What another system's variable says: a value, or the setting by being there at all.
enum class Foreign { kValue, kPresence };

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
  Reload reload = Reload::kAtStart;
  InTable in_table = InTable::kYes;
  Foreign foreign_says = Foreign::kValue;  // kPresence: a kBool that any text but "" makes true

  // Never shown. Headers may carry a key, and need not come from the environment.
  bool secret() const { return type == Type::kSecret || name == "llm.extra_headers"; }
};

std::span<const Key> keys();                 // by name
const Key* find_key(std::string_view name);  // nullptr when there is none
std::string env_name(const Key& key);        // "CHELA_GATEWAY_PORT"
std::string_view type_text(Type type);       // "a whole number", for messages

// The key that a person probably meant, or "".
std::string_view closest_key(std::string_view name);

}  // namespace chela::config
