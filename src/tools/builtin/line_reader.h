#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "base/result.h"

namespace chela::tools {

struct LineRange {
  std::string text;        // whole lines, the last without its newline
  std::int64_t first = 0;  // numbers of the lines, from 1; first > last when there are none
  std::int64_t last = 0;
  bool last_line_cut = false;  // the one line that is longer than a result may be
  std::int64_t total = 0;      // lines of the file, or those that were counted
  bool total_known = true;     // false: the file is longer than kMaxScanBytes
  bool binary = false;         // NUL near the beginning: no text
};

// Reads lines first .. first + count - 1 of an open regular file, at most kMaxReadBytes. Blocks. kCancelled on stop.
Result<LineRange> read_lines(int fd, std::int64_t first, std::int64_t count, std::stop_token stop);

}  // namespace chela::tools
