#include "tools/builtin/builtin.h"

#include "tools/builtin/core_tools.h"
#include "tools/builtin/file_tools.h"
#include "tools/builtin/secret_tool.h"
#include "tools/builtin/time_tool.h"

namespace chela::tools {

Result<> add_builtin_tools(Registry& registry, const BuiltinParts& parts) {
  Result<> added;
  const auto add = [&](std::unique_ptr<Tool> tool, const char* group) {
    if (added) added = registry.add(std::move(tool), group);
  };
  add(make_echo_tool(), "core");
  add(make_calculator_tool(), "core");
  add(make_json_tool(), "core");
  add(make_time_tool(parts.clock, parts.pool), "core");
  add(make_request_secret_tool(parts.vault), "core");
  add(make_read_file_tool(parts.pool, parts.workspaces), "files");
  add(make_list_dir_tool(parts.pool, parts.workspaces), "files");
  add(make_write_file_tool(parts.pool, parts.workspaces, parts.protected_files), "files");
  return added;
}

}  // namespace chela::tools
