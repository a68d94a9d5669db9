#pragma once

#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace chela::os {

// An exclusive lock on a file (flock), held until destruction or the end of the process, however it ends. The file holds the
// owner's process id as text and stays behind unlocked.
class FileLock {
 public:
  // kConflict when another process has it; detail("pid") is that process.
  static Result<FileLock> acquire(const std::string& path);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace chela::os
