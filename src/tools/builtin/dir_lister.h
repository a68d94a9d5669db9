#pragma once

#include <stop_token>
#include <string>

#include "base/result.h"

namespace chela::tools {

// The entries below `path` as lines, each with its path from there: directories first ("src/"), then links ("to@", never
// followed) and files with their sizes. With depth > 1 directories are followed by what they hold, except those
// that tools fill (.git, node_modules, ...). At most kMaxDirEntries lines; a note says when there are more. Blocks. kCancelled on stop.
Result<std::string> list_tree(const std::string& root, const std::string& path, int depth,
                              std::stop_token stop);

}  // namespace chela::tools
