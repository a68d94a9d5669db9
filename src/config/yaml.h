#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace chela::config {

inline constexpr size_t kMaxYamlBytes = 1024 * 1024;
inline constexpr size_t kMaxYamlDepth = 64;
inline constexpr size_t kMaxYamlNodes = 100'000;  // with aliases written out

// One document of YAML as a JSON value: plain scalars become null, booleans and numbers as in YAML 1.2's core schema (so `no` is a
// text), keys are texts, aliases are written out. kInvalidArgument names path and line of what cannot be read, of keys that occur twice
// and of tags; kTooLarge past a limit above. An empty text is null.
Result<json::Value> parse_yaml(std::string_view text, std::string_view path);

}  // namespace chela::config
