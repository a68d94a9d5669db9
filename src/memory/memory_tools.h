#pragma once

#include "base/result.h"
#include "memory/workspace.h"
#include "tools/registry.h"

namespace chela::memory {

// Adds memory_search, memory_write, memory_read and memory_tree (group "memory").
Result<> add_memory_tools(tools::Registry& registry, Workspace& workspace);

}  // namespace chela::memory
