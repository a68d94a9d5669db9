#pragma once

#include <string>

#include "agent/engine.h"
#include "base/json.h"

// The records of a thread as Engine::log() gives them, all pages.
namespace chela::agent::traces {

// Those after `after` of the thread alone.
Task<Result<json::Array>> records_after(Engine& engine, Scope scope, std::string thread, std::int64_t after);
// All that made the conversation: those of the threads it was forked from first.
Task<Result<json::Array>> whole_log(Engine& engine, Scope scope, std::string thread);

}  // namespace chela::agent::traces
