#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace chela::config {

// A TOML text as a JSON object, for data that other folders read; dates become texts. kInvalidArgument: "<path>:<line>: <why>".
Result<json::Value> parse_toml_value(std::string_view text, std::string_view path);

}  // namespace chela::config
