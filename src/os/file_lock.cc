#include "os/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "base/strings.h"
#include "os/file.h"

namespace chela::os {

namespace {
constexpr size_t kMaxPidBytes = 32;
}

Result<FileLock> FileLock::acquire(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(system_error(errno, "open", path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(system_error(errno, "lock", path));
    const Result<std::string> holder = read_fd(fd.get(), path, kMaxPidBytes);
    const std::string pid = holder ? std::string(strings::trim(*holder)) : "";
    return fail(Error{.code = Code::kConflict,
                      .message = fmt::format("{} is held by process {}", path, pid.empty() ? "?" : pid)}
                    .with("pid", pid));
  }
  if (::ftruncate(fd.get(), 0) != 0) return fail(system_error(errno, "write", path));
  if (Result<> wrote = write_fd(fd.get(), path, fmt::format("{}\n", ::getpid())); !wrote)
    return fail(std::move(wrote.error()));
  return FileLock(std::move(fd));
}

}  // namespace chela::os
