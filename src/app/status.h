#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

// What `chela status` says.
namespace chela::app {

// So many threads are counted; more are "at least" so many.
inline constexpr int kMaxCountedThreads = 500;

// Resident bytes of a process, 0 when it cannot be seen.
std::int64_t memory_of(int pid);

// Adds to `status` what the engine says of itself (system::status) and of its threads (thread::list).
void add_engine_status(json::Value& status, const json::Value& engine, const json::Value& threads,
                       std::int64_t memory);

std::string status_text(const json::Value& status);

}  // namespace chela::app
