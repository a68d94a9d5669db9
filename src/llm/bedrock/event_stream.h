#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/wire/limits.h"

namespace chela::llm::bedrock {

// A message of application/vnd.amazon.eventstream.
struct Frame {
  std::map<std::string, std::string, std::less<>> headers;  // those whose value is a text
  std::string payload;
};

// Takes the bytes of an event stream apart, however they are cut. Both checksums are checked.
class FrameParser {
 public:
  // The frames that these bytes complete. kUpstream for a length, checksum or header that cannot be.
  Result<std::vector<Frame>> feed(std::string_view bytes);

  bool in_midst() const { return !rest_.empty(); }  // of a frame

 private:
  std::string rest_;
};

}  // namespace chela::llm::bedrock
