#pragma once

#include <string>

#include "base/result.h"
#include "config/config.h"

namespace chela::cli {

// What `chela config` prints: all settings with value and origin, or everything about one. kNotFound for a key that there is none of.
Result<std::string> config_text(const config::Config& config, const std::string& key);

}  // namespace chela::cli
