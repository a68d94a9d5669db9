#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "config/keys.h"

namespace chela::config {

// A JSON value as the text of a key, checked; a text is taken as it would stand in the environment ("30s", "8"). kUnprocessable says
// what was expected.
Result<std::string> text_of(const Key& key, const json::Value& value);

// A checked text as JSON: numbers, true and false and lists as such, all else as text; null for what is not set.
json::Value json_of(const Key& key, std::string_view text);

}  // namespace chela::config
