#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/keys.h"

namespace chela::config {

// Whether the text is a value of the key; the error says what was expected and what was given, without a secret's text.
Result<> check_value(const Key& key, std::string_view text);

// `secret:NAME` names a secret of the vault.
inline constexpr std::string_view kSecretReference = "secret:";
inline bool is_secret_reference(std::string_view text) { return text.starts_with(kSecretReference); }

// Whether the settings table may hold the text for the key: of secrets only the names they have in the vault.
inline bool storable(const Key& key, std::string_view text) {
  if (key.in_table == InTable::kNo) return false;
  return !key.secret() || (key.type == Type::kSecret && is_secret_reference(text));
}

// What a checked text means. Called only with texts that check_value() has passed.
std::int64_t int_value(std::string_view text);
double number_value(std::string_view text);
bool bool_value(std::string_view text);
std::int64_t bytes_value(std::string_view text);
std::vector<std::string> list_value(std::string_view text);  // separated by commas

}  // namespace chela::config
