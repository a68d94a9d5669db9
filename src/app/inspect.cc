#include "app/inspect.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/dialects/inspect.h"
#include "app/limits.h"
#include "base/strings.h"
#include "cli/commands.h"

namespace chela::app {
namespace {

// Puts lines together. Of one past the limit only that it was there is kept.
class LineInspector {
 public:
  explicit LineInspector(const cli::Output& output) : output_(output) {}

  void add(std::string_view bytes) {
    for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      append(bytes.substr(0, end));
      end_line();
      bytes.remove_prefix(end + 1);
    }
    append(bytes);
  }

  void end_line() {
    // A line past the limit is no JSON: what is kept of it was cut.
    if (!strings::trim(line_).empty()) output_.line(agent::dialects::inspect_line(line_));
    line_.clear();
  }

 private:
  void append(std::string_view bytes) { line_ += bytes.substr(0, kMaxInspectLineBytes - line_.size()); }

  const cli::Output& output_;
  std::string line_;
};

}  // namespace

int inspect_tool_calls(int input, const cli::Output& output) {
  LineInspector lines(output);
  std::string buffer(kInspectReadBytes, '\0');
  while (true) {
    const ssize_t got = ::read(input, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return cli::report_error(
          Error{.code = Code::kUnavailable,
                .message = fmt::format("cannot read the texts: {}", std::strerror(errno))},
          output);
    if (got == 0) break;
    lines.add(std::string_view(buffer.data(), static_cast<size_t>(got)));
  }
  lines.end_line();
  return 0;
}

}  // namespace chela::app
