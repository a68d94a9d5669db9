#pragma once

#include <string_view>

#include "base/json.h"

namespace chela::api {

// A schema written as JSON text in the source: a wrong one is a bug and stops the program.
json::Value schema(std::string_view text);

// An object without fields.
json::Value no_input();

}  // namespace chela::api
