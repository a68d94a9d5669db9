#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace chela::config {

// A key of a file with its value as it would stand in the environment.
struct FileValue {
  std::string name;  // "gateway.port"
  std::string text;
  int line = 0;
};

// Flattens a TOML text. Errors are kInvalidArgument: "<path>:<line>: <why>".
Result<std::vector<FileValue>> read_toml(std::string_view text, std::string_view path);

}  // namespace chela::config
