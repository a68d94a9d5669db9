#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/clock.h"
#include "runtime/pool.h"
#include "security/vault.h"
#include "tools/builtin/workspaces.h"
#include "tools/registry.h"

namespace chela::tools {

// What the built-in tools work with; all of it outlives them.
struct BuiltinParts {
  const runtime::Clock& clock;
  runtime::Pool& pool;
  const Workspaces& workspaces;
  // Names that write_file refuses in the root of a workspace, in any case: what is imported from there steers the agent.
  std::vector<std::string> protected_files;
  security::Vault& vault;
};

// Adds echo, time, calculator, json, request_secret (group "core"), read_file, list_dir and write_file (group "files").
Result<> add_builtin_tools(Registry& registry, const BuiltinParts& parts);

}  // namespace chela::tools
