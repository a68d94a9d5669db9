#include "cli/secret_input.h"

#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/limits.h"
#include "cli/lines.h"
#include "os/file.h"

namespace chela::cli {
namespace {

// What is typed is not shown until this goes. Nothing for what is no terminal.
class Hidden {
 public:
  explicit Hidden(int fd) : fd_(fd) {
    termios settings{};
    if (::tcgetattr(fd, &settings) != 0) return;
    before_ = settings;
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    settings.c_lflag |= ICANON | ECHONL;
    ::tcsetattr(fd, TCSAFLUSH, &settings);
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;
  ~Hidden() {
    if (before_) ::tcsetattr(fd_, TCSAFLUSH, &*before_);
  }
  bool terminal() const { return before_.has_value(); }

 private:
  int fd_;
  std::optional<termios> before_;
};

std::string_view without_line_end(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

Task<Result<crypto::Secret>> read_secret(os::Poller& poller, int fd, std::string prompt, const Output& output,
                                         std::stop_token stop) {
  const Hidden hidden(fd);
  if (hidden.terminal()) output.err(prompt);
  crypto::Secret buffer = crypto::Secret::zeroed(
      kMaxSecretBytes + 3);  // a line end, and one byte more to see that it is too long
  size_t size = 0;
  while (size < buffer.size()) {
    if (can_be_polled(fd)) {
      const Result<> ready = co_await poller.readable(fd, stop);
      if (!ready && stop.stop_requested()) output.err("\n");
      if (!ready) co_return fail(ready.error());
    }
    const ssize_t count = ::read(fd, buffer.data() + size, buffer.size() - size);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) co_return fail(os::system_error(errno, "read", "the secret"));
    if (count == 0) break;
    size += static_cast<size_t>(count);
    if (hidden.terminal() && buffer.view().substr(0, size).ends_with('\n')) break;
  }
  const std::string_view text = without_line_end(buffer.view().substr(0, size));
  if (text.empty())
    co_return fail(Code::kInvalidArgument, "no secret came; type it, or pipe it in: ... < FILE");
  if (text.size() > kMaxSecretBytes)
    co_return fail(Code::kTooLarge, "a secret's value has at most {} bytes", kMaxSecretBytes);
  co_return crypto::Secret(text);
}

}  // namespace chela::cli
