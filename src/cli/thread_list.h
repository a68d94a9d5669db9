#pragma once

#include <vector>

#include "base/json.h"

namespace chela::cli {

// The threads that thread::list tells of, the pinned one (assistant_thread) among them, the most recently used first.
std::vector<json::Value> threads_of(const json::Value& listed);

}  // namespace chela::cli
