#pragma once

#include <string>

#include "base/json.h"

namespace chela::cli {

// What people read of setting::list: a line for each, with its value and where that comes from.
std::string settings_text(const json::Value& value);

// And of setting::get: everything about one.
std::string setting_text(const json::Value& entry);

}  // namespace chela::cli
