#pragma once

#include <string>

#include "base/time.h"

namespace chela::llm::budget {

struct Span {
  UnixMs begin = 0;
  UnixMs end = 0;  // not included
  bool holds(UnixMs time) const { return time >= begin && time < end; }
};

// Days and months of a zone. The data of zones other than UTC is read on first use: some milliseconds. A zone that there is none of, and
// times that no zone knows, count as UTC. Loop thread only.
class Calendar {
 public:
  explicit Calendar(std::string zone) : zone_(std::move(zone)) {}

  const std::string& zone() const { return zone_; }
  Span day(UnixMs time);
  Span month(UnixMs time);
  // "2026-11-22"
  std::string date(UnixMs time);

 private:
  std::string zone_;
  Span day_;  // the last one asked for
  Span month_;
};

}  // namespace chela::llm::budget
