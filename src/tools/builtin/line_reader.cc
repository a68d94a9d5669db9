#include "tools/builtin/line_reader.h"

#include <unistd.h>

#include <cerrno>

#include "base/utf8.h"
#include "os/file.h"
#include "tools/builtin/file_tools.h"

namespace chela::tools {
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;

// Collects the wanted lines from blocks of any size.
class Collector {
 public:
  Collector(std::int64_t first, std::int64_t count) : end_(first + count) {
    out_.first = first;
    out_.last = first - 1;
  }

  void add(std::string_view block) {
    while (!block.empty()) {
      const std::size_t newline = block.find('\n');
      const bool complete = newline != std::string_view::npos;
      const std::string_view piece = block.substr(0, complete ? newline : block.size());
      in_line_ = true;
      if (wanted()) take(piece);
      if (complete) end_line();
      block.remove_prefix(piece.size() + (complete ? 1 : 0));
    }
  }

  LineRange finish(bool total_known) {
    if (in_line_) end_line();
    out_.total = line_ - 1;
    out_.total_known = total_known;
    out_.text.resize(complete_);
    return std::move(out_);
  }

 private:
  bool has_lines() const { return out_.last >= out_.first; }
  bool wanted() const { return !full_ && line_ >= out_.first && line_ < end_; }

  void take(std::string_view piece) {
    if (!line_begun_ && has_lines()) out_.text += '\n';
    line_begun_ = true;
    if (out_.text.size() + piece.size() <= kMaxReadBytes) {
      out_.text += piece;
      return;
    }
    full_ = true;
    if (has_lines()) return;  // this line comes with the next call
    out_.text += piece.substr(0, kMaxReadBytes - out_.text.size());
    complete_ = utf8::prefix(out_.text, kMaxReadBytes).size() - utf8::incomplete_tail(out_.text);
    out_.last = line_;
    out_.last_line_cut = true;
  }

  void end_line() {
    if (wanted()) {
      if (!line_begun_) take({});
      if (!full_) {
        complete_ = out_.text.size();
        out_.last = line_;
      }
    }
    line_begun_ = false;
    in_line_ = false;
    ++line_;
  }

  LineRange out_;
  const std::int64_t end_;
  std::int64_t line_ = 1;     // the one that is being read
  std::size_t complete_ = 0;  // bytes of the text that are whole lines
  bool in_line_ = false;      // something of the line has been read
  bool line_begun_ = false;   // something of the line has been taken
  bool full_ = false;
};

}  // namespace

Result<LineRange> read_lines(int fd, std::int64_t first, std::int64_t count, std::stop_token stop) {
  Collector lines(first, count);
  std::string block(kBlockBytes, '\0');
  for (std::size_t scanned = 0; scanned < kMaxScanBytes;) {
    if (stop.stop_requested()) return fail(Code::kCancelled, "reading was cancelled");
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(os::system_error(errno, "read", "the file"));
    if (got == 0) return lines.finish(true);
    const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
    if (scanned == 0 && bytes.contains('\0')) return LineRange{.binary = true};
    lines.add(bytes);
    scanned += bytes.size();
  }
  return lines.finish(false);
}

}  // namespace chela::tools
