#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

// File access that cannot leave a root directory, whatever the path says and whoever swaps links meanwhile. Links are followed as
// long as they stay inside; one that leads out (".." past the root, absolute, /proc magic) is kPermissionDenied. `path` is relative to
// the root; an absolute path that begins with the root's own name is accepted as the part after it. All calls block.
namespace chela::os {

// Opens beneath the root, close-on-exec. `flags` and `mode` as for open(2).
Result<Fd> open_beneath(const std::string& root, std::string_view path, int flags, mode_t mode = 0);

// The real path, for a child's working directory or for show. What does not exist yet may be named too. Between this call and the
// use of its result links may change: to read or write, use the functions that open.
Result<std::string> resolve_inside(const std::string& root, std::string_view path);

Result<std::string> read_beneath(const std::string& root, std::string_view path, size_t max_bytes);

// Creates missing parent directories (0755), then replaces the file as write_file_atomic does. A link at the end of the path is
// written through.
Result<> write_beneath(const std::string& root, std::string_view path, std::string_view bytes,
                       mode_t mode = 0644);

enum class EntryKind { kFile, kDirectory, kLink, kOther };

struct DirEntry {
  std::string name;  // as the file system has it: any bytes but '/' and NUL
  EntryKind kind;
  std::int64_t size;  // bytes of a file, else 0
};

// The entries of a directory by name, without "." and ".."; at most `limit` are read.
Result<std::vector<DirEntry>> list_beneath(const std::string& root, std::string_view path, size_t limit);

}  // namespace chela::os
