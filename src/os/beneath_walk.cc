#include "os/beneath_walk.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <deque>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/strings.h"

namespace chela::os {
namespace {

// A path on its way: the directories entered so far and the parts still to go.
class Walk {
 public:
  Walk(int root, std::string_view path) : root_(root) { push(path); }

  Fd open(int flags, mode_t mode) {
    while (!parts_.empty()) {
      const std::string part = std::move(parts_.front());
      parts_.pop_front();
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        if (entered_.empty()) return refuse(EXDEV);
        entered_.pop_back();
        continue;
      }
      if (parts_.empty()) {
        Fd last = open_last(part, flags, mode);
        if (last || !followed_) return last;
      } else if (!enter(part)) {
        return {};
      }
      followed_ = false;
    }
    return Fd(::openat(top(), ".", flags | O_CLOEXEC, mode));
  }

 private:
  static Fd refuse(int reason) {
    errno = reason;
    return {};
  }

  int top() const { return entered_.empty() ? root_ : entered_.back().get(); }

  void push(std::string_view path) {
    // The trailing slash of "dir/" asks for a directory.
    std::deque<std::string> parts;
    for (const std::string_view part : strings::split(path, '/')) parts.emplace_back(part);
    if (parts.size() > 1 && parts.back().empty()) parts.back() = ".";
    parts_.insert(parts_.begin(), parts.begin(), parts.end());
  }

  // Puts the target of the link `part` in front of what is still to go. False leaves the reason in errno, EINVAL when it is no link.
  bool follow(const std::string& part) {
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(top(), part.c_str(), target.data(), target.size());
    if (size < 0) return false;
    target.resize(static_cast<size_t>(size));
    if (target.starts_with('/')) return errno = EXDEV, false;
    if (++links_ > kMaxLinks) return errno = ELOOP, false;
    push(target);
    return followed_ = true;
  }

  bool enter(const std::string& part) {
    Fd next(::openat(top(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return false;
    struct stat info{};
    if (::fstat(next.get(), &info) != 0) return false;
    if (S_ISLNK(info.st_mode)) return follow(part);
    if (!S_ISDIR(info.st_mode)) return errno = ENOTDIR, false;
    entered_.push_back(std::move(next));
    return true;
  }

  // The end of the path; sets followed_ when it was a link whose target is still to be walked.
  Fd open_last(const std::string& part, int flags, mode_t mode) {
    Fd fd(::openat(top(), part.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
    const int reason = errno;
    if ((flags & O_NOFOLLOW) != 0) return fd;
    struct stat info{};
    if (fd) {
      // O_PATH opens the link itself.
      if ((flags & O_PATH) == 0 || ::fstat(fd.get(), &info) != 0 || !S_ISLNK(info.st_mode)) return fd;
      fd.reset();
    } else if (reason != ELOOP && reason != ENOTDIR) {
      return refuse(reason);
    }
    if (!follow(part)) return refuse(errno == EINVAL ? reason : errno);
    return {};
  }

  const int root_;
  std::vector<Fd> entered_;
  std::deque<std::string> parts_;
  int links_ = 0;
  bool followed_ = false;
};

}  // namespace

Fd open_by_walking(int root, std::string_view path, int flags, mode_t mode) {
  if (path.starts_with('/')) {
    errno = EXDEV;
    return {};
  }
  return Walk(root, path).open(flags, mode);
}

}  // namespace chela::os
