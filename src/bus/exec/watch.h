#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace chela::bus::exec {

// The files that patterns mean, and when each was changed last. `**` stands for any number of folders, `*` and `?` for characters of a
// name. Hidden folders and node_modules are entered only where a pattern names them. Blocks: for the pool.
using Seen = std::map<std::string, std::int64_t>;
Seen look(const std::filesystem::path& directory, const std::vector<std::string>& patterns);

// Whether a path, relative to the directory and with '/', is one that the pattern means.
bool covers(std::string_view pattern, std::string_view path);

}  // namespace chela::bus::exec
