#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"

namespace chela::bus {

// One member of an envelope, as views into the frame.
struct RawMember {
  std::string_view key;    // between the quotes; a key with an escape never equals a name of the protocol
  std::string_view value;  // the value's own bytes, without white space around them
};

// Checks that a frame is one JSON object (RFC 8259, valid UTF-8, depth at most kMaxJsonDepth) and finds its members, without building
// anything: so that what only passes through stays bytes, and nobody is sent what is no JSON. simdjson finds the tokens, the
// grammar is checked over them. Not thread-safe; the result is valid until the next scan() and as long as the text.
class Scanner {
 public:
  Scanner();
  ~Scanner();
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  // kInvalidArgument for anything but a JSON object of at most kMaxFrameMembers members, kTooLarge past kMaxFrameBytes.
  Result<std::span<const RawMember>> scan(std::string_view text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chela::bus
