#pragma once

#include <string>

#include "base/json.h"

namespace chela::cli {

// What people read of usage::days: what was used, by day, model or agent, and how the limits stand.
std::string usage_text(const json::Value& value);

}  // namespace chela::cli
