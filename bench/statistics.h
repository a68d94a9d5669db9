#pragma once

#include <vector>

#include "base/json.h"

namespace chela::bench {

// {"count","p50_ms","p99_ms","max_ms","mean_ms"} of samples in milliseconds.
json::Value summary(std::vector<double> samples_ms);

// Resident memory of a process in bytes, 0 when it cannot be read. pid 0 is this one.
std::size_t resident_bytes(int pid = 0);

}  // namespace chela::bench
