#include "os/temporary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>

#include "base/check.h"
#include "os/file.h"

namespace chela::os {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  CHELA_CHECK(::getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number),
              "getrandom failed");
  return number;
}

Result<TemporaryFile> create_temporary(int directory, std::string_view name, mode_t mode,
                                       const std::function<std::uint64_t()>& random) {
  for (int i = 0; i < kMaxTemporaryNames; ++i) {
    std::string temporary = fmt::format(".chela-{:016x}.tmp", random());
    Fd fd(::openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (fd) return TemporaryFile{.fd = std::move(fd), .name = std::move(temporary)};
    if (errno != EEXIST) break;
  }
  return fail(system_error(errno, "create", name));
}

}  // namespace chela::os
