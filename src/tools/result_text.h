#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tools/tool.h"

// A tool's result as the model reads it.
namespace chela::tools {

inline constexpr std::size_t kMaxPreviewChars = 500;

struct ResultText {
  std::string text;     // valid UTF-8, at most max_bytes
  std::string preview;  // the beginning, unwrapped, for people: at most kMaxPreviewChars characters
};

// Parts are joined by newlines; JSON is pretty-printed; an error begins with "Error: ". Untrusted content stands between
// <tool_output name="..." sanitized="false"> and </tool_output>, so that the model can tell it from the conversation; inside, the
// "<" of anything that looks like such a tag becomes "&lt;" and all else is left alone (code must arrive as it is).
// What is too long is cut between characters, and a note says how much is missing.
ResultText result_text(std::string_view tool, const ToolResult& result, std::size_t max_bytes);

// The first kMaxPreviewChars characters.
std::string preview_of(std::string_view text);

}  // namespace chela::tools
