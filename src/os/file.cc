#include "os/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "os/fd.h"

namespace chela::os {
namespace {

constexpr size_t kReadBytes = 64 * 1024;

Code code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
    case EXDEV:
    case ELOOP:
      return Code::kPermissionDenied;
    case EEXIST:
      return Code::kConflict;
    case EFBIG:
      return Code::kTooLarge;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
    case ENOTEMPTY:
      return Code::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EPIPE:
    case EAGAIN:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<> sync(int fd, std::string_view path) {
  if (::fsync(fd) != 0) return fail(system_error(errno, "write", path));
  return {};
}

}  // namespace

Error system_error(int number, std::string_view doing, std::string_view path) {
  char buffer[128];
  return Error{
      .code = code_of(number),
      .message = fmt::format("cannot {} {}: {}", doing, path, ::strerror_r(number, buffer, sizeof buffer))};
}

Result<std::string> read_fd(int fd, std::string_view path, size_t max_bytes) {
  std::string content;
  struct stat info{};
  if (::fstat(fd, &info) == 0 && info.st_size > 0)
    content.reserve(std::min(static_cast<size_t>(info.st_size), max_bytes) + 1);
  while (true) {
    const size_t before = content.size();
    content.resize(before + std::min(kReadBytes, max_bytes + 1 - before));
    const ssize_t got = ::read(fd, content.data() + before, content.size() - before);
    content.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(system_error(errno, "read", path));
    if (got == 0) return content;
    if (content.size() > max_bytes)
      return fail(Code::kTooLarge, "{} has more than {} bytes", path, max_bytes);
  }
}

Result<> write_fd(int fd, std::string_view path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(system_error(errno, "write", path));
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(system_error(errno, "open", path));
  return read_fd(fd.get(), path, max_bytes);
}

Result<> write_file_atomic(const std::string& path, std::string_view bytes, mode_t mode) {
  std::string temporary = path + ".XXXXXX";
  Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return fail(system_error(errno, "create", path));
  Result<> done = write_fd(fd.get(), path, bytes);
  if (done && ::fchmod(fd.get(), mode) != 0) done = fail(system_error(errno, "write", path));
  if (done) done = sync(fd.get(), path);
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0)
    done = fail(system_error(errno, "replace", path));
  if (!done) {
    ::unlink(temporary.c_str());
    return done;
  }
  const Fd directory(::open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail(system_error(errno, "open the folder of", path));
  return sync(directory.get(), path);
}

Result<> make_private_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return fail(system_error(errno, "open", path));
  if ((info.st_mode & 077) == 0) return {};
  if (::fchmod(file.get(), info.st_mode & 0700) != 0)
    return fail(system_error(errno, "close to others", path));
  return {};
}

Result<> make_private_dir(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return fail(system_error(errno, "open", path));
    const std::string parent = parent_of(path);
    if (parent != path && ::access(parent.c_str(), F_OK) != 0) {
      if (Result<> made = make_private_dir(parent); !made) return made;
    }
    if (::mkdir(path.c_str(), 0700) == 0) return {};
    if (errno != EEXIST || ::stat(path.c_str(), &info) != 0) return fail(system_error(errno, "create", path));
  }
  if (!S_ISDIR(info.st_mode)) return fail(Code::kConflict, "{} is no folder", path);
  if (info.st_uid == ::geteuid() && (info.st_mode & 077) != 0 && ::chmod(path.c_str(), 0700) != 0) {
    return fail(system_error(errno, "close to others", path));
  }
  return {};
}

}  // namespace chela::os
