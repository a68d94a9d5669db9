#pragma once

#include <string>
#include <string_view>

#include "agent/engine.h"
#include "agent/traces/trace.h"

namespace chela::agent::traces {

// The trace that has the same conversation again. `records` are those of Engine::log(), from the thread's first on. Documents, files and
// HTTP exchanges that the conversation found there are taken from the results of the tools that showed them; images and attached files
// are not part of it. model_name "" is recorded-<the model's>.
Result<Trace> trace_of(const json::Array& records, std::string_view model_name);

// The same of a stored thread, without what `mask` takes out, laid out for people. kTooLarge when it is more than a trace may hold.
Task<Result<json::Value>> export_thread(Engine& engine, Scope scope, std::string thread,
                                        std::string model_name, Mask mask);

}  // namespace chela::agent::traces
