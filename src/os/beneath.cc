#include "os/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "base/strings.h"
#include "os/beneath_walk.h"
#include "os/file.h"
#include "os/temporary.h"

namespace chela::os {
namespace {

constexpr int kMaxRaces = 16;  // how often a path that changes underneath is tried again

Fd call_openat2(int root, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  Fd fd;
  for (int i = 0; i < kMaxRaces && !fd; ++i) {
    fd.reset(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
    if (!fd && errno != EAGAIN && errno != EINTR) break;
  }
  return fd;
}

// Old kernels lack the call, some containers forbid it.
bool has_openat2() {
  static const bool works = [] {
    const Fd here(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return static_cast<bool>(call_openat2(here.get(), ".", O_PATH, 0));
  }();
  return works;
}

struct Rooted {
  Fd root;
  std::string path;  // relative to it, "." for the root itself
};

// The real path of an open descriptor.
Result<std::string> path_of(int fd) {
  std::string path(PATH_MAX, '\0');
  const ssize_t size = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path.data(), path.size());
  if (size < 0) return fail(system_error(errno, "find the path of", "an open file"));
  path.resize(static_cast<size_t>(size));
  return path;
}

// Joins the components that say something; ".." stays, the kernel resolves it.
std::string tidy(std::string_view path) {
  std::string out;
  for (const std::string_view part : strings::split(path, '/')) {
    if (!part.empty() && part != ".") out += (out.empty() ? "" : "/") + std::string(part);
  }
  return out.empty() ? "." : out;
}

Result<Rooted> rooted(const std::string& root, std::string_view path) {
  if (path.find('\0') != std::string_view::npos)
    return fail(Code::kInvalidArgument, "the path has a NUL byte");
  if (path.size() >= PATH_MAX)
    return fail(Code::kInvalidArgument, "the path is longer than {} bytes", PATH_MAX - 1);
  Fd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(system_error(errno, "open", root));
  if (!path.starts_with('/')) return Rooted{.root = std::move(fd), .path = tidy(path)};
  const Result<std::string> real = path_of(fd.get());
  if (!real) return fail(real.error());
  for (const std::string& prefix : {root, *real}) {
    if (path == prefix ||
        (path.starts_with(prefix) && (prefix.ends_with('/') || path[prefix.size()] == '/'))) {
      return Rooted{.root = std::move(fd), .path = tidy(path.substr(prefix.size()))};
    }
  }
  return fail(Code::kPermissionDenied, "{} is outside of {}", path, root);
}

Error failure(int reason, std::string_view doing, std::string_view path) {
  if (reason == EXDEV)
    return Error{.code = Code::kPermissionDenied,
                 .message = fmt::format("{} leads out of its root folder", path)};
  return system_error(reason, doing, path);
}

Fd open_at(const Rooted& at, const std::string& path, int flags, mode_t mode = 0) {
  return has_openat2() ? call_openat2(at.root.get(), path, flags, mode)
                       : open_by_walking(at.root.get(), path, flags | O_CLOEXEC, mode);
}

struct Split {
  std::string parent;  // "." for the root
  std::string name;
};

Split split_last(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {.parent = ".", .name = path};
  return {.parent = path.substr(0, slash), .name = path.substr(slash + 1)};
}

// The directory, made with its parents where missing.
Result<Fd> open_or_make_dir(const Rooted& at, const std::string& path) {
  Fd fd = open_at(at, path, O_RDONLY | O_DIRECTORY);
  if (fd) return fd;
  if (errno != ENOENT || path == ".") return fail(failure(errno, "open", path));
  const Split split = split_last(path);
  if (split.name == "..") return fail(system_error(ENOENT, "open", path));
  Result<Fd> parent = open_or_make_dir(at, split.parent);
  if (!parent) return parent;
  if (::mkdirat(parent->get(), split.name.c_str(), 0755) != 0 && errno != EEXIST)
    return fail(system_error(errno, "create", path));
  fd = open_at(at, path, O_RDONLY | O_DIRECTORY);
  if (!fd) return fail(failure(errno, "open", path));
  return fd;
}

// Where a write to the path really goes: an existing file's own place, links resolved.
Result<std::string> real_relative(const Rooted& at) {
  const Fd existing = open_at(at, at.path, O_PATH);
  if (!existing) {
    if (errno == ENOENT) return at.path;
    return fail(failure(errno, "open", at.path));
  }
  const Result<std::string> root = path_of(at.root.get());
  if (!root) return root;
  Result<std::string> real = path_of(existing.get());
  if (!real) return real;
  if (!real->starts_with(*root)) return fail(failure(EXDEV, "open", at.path));
  return tidy(std::string_view(*real).substr(root->size()));
}

Result<> replace_file(int directory, const std::string& name, std::string_view bytes, mode_t mode) {
  struct stat before{};
  if (::fstatat(directory, name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(before.st_mode)) return fail(system_error(EISDIR, "write", name));
    if (S_ISREG(before.st_mode)) mode = before.st_mode & 0777;
  }
  const Result<TemporaryFile> temporary = create_temporary(directory, name, mode);
  if (!temporary) return fail(temporary.error());
  const int fd = temporary->fd.get();
  Result<> done = write_fd(fd, name, bytes);
  if (done && (::fchmod(fd, mode) != 0 || ::fsync(fd) != 0)) done = fail(system_error(errno, "write", name));
  if (done && ::renameat(directory, temporary->name.c_str(), directory, name.c_str()) != 0)
    done = fail(system_error(errno, "replace", name));
  if (!done) {
    ::unlinkat(directory, temporary->name.c_str(), 0);
    return done;
  }
  if (::fsync(directory) != 0) return fail(system_error(errno, "write", name));
  return {};
}

EntryKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return EntryKind::kFile;
  if (S_ISDIR(mode)) return EntryKind::kDirectory;
  return S_ISLNK(mode) ? EntryKind::kLink : EntryKind::kOther;
}

}  // namespace

Result<Fd> open_beneath(const std::string& root, std::string_view path, int flags, mode_t mode) {
  const Result<Rooted> at = rooted(root, path);
  if (!at) return fail(at.error());
  Fd fd = open_at(*at, at->path, flags, mode);
  if (!fd) return fail(failure(errno, "open", path));
  return fd;
}

Result<std::string> resolve_inside(const std::string& root, std::string_view path) {
  const Result<Rooted> at = rooted(root, path);
  if (!at) return fail(at.error());
  std::string existing = at->path;
  std::string missing;
  while (true) {
    const Fd fd = open_at(*at, existing, O_PATH);
    if (fd) {
      Result<std::string> real = path_of(fd.get());
      if (!real) return real;
      return *real + missing;
    }
    if (errno != ENOENT || existing == ".") return fail(failure(errno, "open", path));
    const Split split = split_last(existing);
    if (split.name == "..") return fail(system_error(ENOENT, "open", path));
    missing = "/" + split.name + missing;
    existing = split.parent;
  }
}

Result<std::string> read_beneath(const std::string& root, std::string_view path, size_t max_bytes) {
  // Without O_NONBLOCK a named pipe would hold the thread until somebody writes to it.
  const Result<Fd> fd = open_beneath(root, path, O_RDONLY | O_NONBLOCK);
  if (!fd) return fail(fd.error());
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0) return fail(system_error(errno, "read", path));
  if (S_ISDIR(info.st_mode)) return fail(Code::kInvalidArgument, "{} is a folder", path);
  if (!S_ISREG(info.st_mode)) return fail(Code::kInvalidArgument, "{} is no ordinary file", path);
  return read_fd(fd->get(), path, max_bytes);
}

Result<> write_beneath(const std::string& root, std::string_view path, std::string_view bytes, mode_t mode) {
  const Result<Rooted> at = rooted(root, path);
  if (!at) return fail(at.error());
  const Result<std::string> real = real_relative(*at);
  if (!real) return fail(real.error());
  const Split split = split_last(*real);
  if (split.name == "." || split.name == ".." || path.ends_with('/'))
    return fail(Code::kInvalidArgument, "{} names a folder, not a file", path);
  const Result<Fd> directory = open_or_make_dir(*at, split.parent);
  if (!directory) return fail(directory.error());
  return replace_file(directory->get(), split.name, bytes, mode);
}

Result<std::vector<DirEntry>> list_beneath(const std::string& root, std::string_view path, size_t limit) {
  Result<Fd> fd = open_beneath(root, path, O_RDONLY | O_DIRECTORY);
  if (!fd) return fail(std::move(fd.error()));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd->get()), ::closedir);
  if (!directory) return fail(system_error(errno, "list", path));
  const int number = fd->release();  // closedir() closes it
  std::vector<DirEntry> entries;
  while (entries.size() < limit) {
    errno = 0;
    const dirent* each = ::readdir(directory.get());
    if (!each && errno != 0) return fail(system_error(errno, "list", path));
    if (!each) break;
    const std::string_view name = each->d_name;
    if (name == "." || name == "..") continue;
    struct stat info{};
    if (::fstatat(number, each->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;  // gone meanwhile
    const EntryKind kind = kind_of(info.st_mode);
    entries.push_back(
        {.name = std::string(name), .kind = kind, .size = kind == EntryKind::kFile ? info.st_size : 0});
  }
  std::sort(entries.begin(), entries.end(),
            [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  return entries;
}

}  // namespace chela::os
