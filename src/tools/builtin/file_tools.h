#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/pool.h"
#include "tools/builtin/workspaces.h"
#include "tools/tool.h"

// Tools for the files of the caller's workspace. Paths are relative to it; nothing outside can be reached, whatever links say. Blocking
// work runs on the pool and looks at the stop token between blocks and entries.
namespace chela::tools {

inline constexpr std::size_t kMaxReadBytes = 64 * 1024;  // of text in one result
inline constexpr std::int64_t kMaxReadLines = 2000;
inline constexpr std::size_t kMaxScanBytes =
    64 * 1024 * 1024;  // of a file, to find the asked lines and to count them

std::unique_ptr<Tool> make_read_file_tool(runtime::Pool& pool, const Workspaces& workspaces);
std::unique_ptr<Tool> make_list_dir_tool(runtime::Pool& pool, const Workspaces& workspaces);
// Asks unless auto-approved.
std::unique_ptr<Tool> make_write_file_tool(runtime::Pool& pool, const Workspaces& workspaces,
                                           std::vector<std::string> protected_files);

}  // namespace chela::tools
