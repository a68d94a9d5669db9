#pragma once

#include <string_view>

#include "base/json.h"

namespace chela::tools {

// The value at a path: "users[0].name", "[2]", "$.a"; "" and "$" are the whole. A key with dots or brackets is written ["a.b"].
// kNotFound says how far the path led and what is there; kInvalidArgument says where the path is wrong.
Result<json::Value> query(const json::Value& value, std::string_view path);

}  // namespace chela::tools
