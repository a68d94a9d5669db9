#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace chela::tui {

// What was typed, the newest last: kMaxHistoryEntries, repeated ones once. With a file (0600) it is there the next time; each entry is a
// line of it, with \n and \\ for line ends and backslashes. Several programs may add to one file. Blocks on the disk.
class History {
 public:
  History() = default;  // in memory
  // A file that cannot be read is an error; one that is not there is empty.
  static Result<History> open(std::string file);

  // Nothing is kept of empty input, of the entry that is the last one already, of what begins with a space, or of what is too long.
  Result<> add(std::string_view entry);
  const std::deque<std::string>& entries() const { return entries_; }

 private:
  Result<> shorten();

  std::string file_;
  std::deque<std::string> entries_;
  size_t lines_ = 0;  // of the file
};

}  // namespace chela::tui
