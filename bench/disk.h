#pragma once

#include <string>

#include "base/json.h"

namespace chela::bench {

// How long this disk takes for a 4 KiB write and fdatasync: what every durable turn waits for at least. Writes a file in `folder` and
// removes it.
json::Value measure_fdatasync(const std::string& folder, int rounds = 200);

}  // namespace chela::bench
