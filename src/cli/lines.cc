#include "cli/lines.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/limits.h"

namespace chela::cli {
namespace {

// A line longer than any message the engine takes; the engine says so.
constexpr size_t kMaxLineBytes = 4 * kMaxMessageBytes;

}  // namespace

bool can_be_polled(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return false;
  return S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || ::isatty(fd);
}

DescriptorLines::DescriptorLines(os::Poller& poller, int fd)
    : poller_(poller), fd_(fd), waits_(can_be_polled(fd)) {}

std::optional<std::string> DescriptorLines::take_line() {
  const size_t end = buffer_.find('\n');
  if (end == std::string::npos && !(ended_ && !buffer_.empty()) && buffer_.size() < kMaxLineBytes)
    return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end == std::string::npos ? end : end + 1);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

Task<Result<std::optional<std::string>>> DescriptorLines::next(std::stop_token stop) {
  while (true) {
    if (std::optional<std::string> line = take_line()) co_return line;
    if (ended_) co_return std::optional<std::string>();
    if (waits_) {
      const Result<> ready = co_await poller_.readable(fd_, stop);
      if (!ready && stop.stop_requested()) co_return std::optional<std::string>();
      if (!ready) co_return fail(ready.error());
    }
    std::array<char, 16 * 1024> bytes;
    const ssize_t count = ::read(fd_, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) ended_ = true;
    if (count > 0) buffer_.append(bytes.data(), static_cast<size_t>(count));
  }
}

}  // namespace chela::cli
