#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "memory/workspace.h"

namespace chela::memory {

inline constexpr std::size_t kMaxRecallChars = 300;  // of one line
inline constexpr std::size_t kRecallChunks = 10;     // that are looked through

// At most `limit` remembered lines that fit a person's message, best first: what the context block of a turn shows the model. None when the
// message has no words beyond those of asking ("what is the time?"). Lines come from the documents as they are, without list marks
// and time stamps; those of a daily log end with the day: "call the bank (noted 2026-01-02)".
Task<Result<std::vector<std::string>>> recall(Workspace& workspace, Scope scope, std::string message,
                                              std::size_t limit);

// The lines of one text that have most of the keywords, for recall() and its tests.
struct Line {
  std::string text;
  std::size_t matches = 0;  // keywords in it
};
std::vector<Line> matching_lines(std::string_view text, const std::vector<std::string>& keywords);

}  // namespace chela::memory
