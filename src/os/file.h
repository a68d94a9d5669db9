#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

// Files of the engine's own, whose paths it chose itself. Paths that a person, a model or a tool names go through os/beneath.h.
// All calls block: on the loop only for small files at start, else through runtime::Pool. Errors name the path and the system's
// reason: kNotFound, kPermissionDenied, kConflict (exists), kTooLarge, kUnavailable (disk full, too many files), kInternal.
namespace chela::os {

// The whole file; kTooLarge when it has more than max_bytes.
Result<std::string> read_file(const std::string& path, size_t max_bytes);
// The same of an open descriptor, from its current offset. `path` is for the error only.
Result<std::string> read_fd(int fd, std::string_view path, size_t max_bytes);
Result<> write_fd(int fd, std::string_view path, std::string_view bytes);

// Readers see the old content or the new, never a part, also after a power cut: temporary file beside it, fsync, rename, fsync of
// the directory.
Result<> write_file_atomic(const std::string& path, std::string_view bytes, mode_t mode);

// Takes all rights from others than its owner. Succeeds on a file that has none of them, whosever it is.
Result<> make_private_file(const std::string& path);

// Creates the directory and its parents (0700); an existing directory of this user is narrowed to 0700.
Result<> make_private_dir(const std::string& path);

// The error for errno `number`: "cannot open /x: permission denied".
Error system_error(int number, std::string_view doing, std::string_view path);

}  // namespace chela::os
