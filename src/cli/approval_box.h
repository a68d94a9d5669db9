#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tui/spans.h"

namespace chela::cli {

enum class Shown { kShort, kWhole };

// The question whether a tool may be called, in a frame: tool, description, parameters. In short, of each parameter that is longer than
// kMaxParameterChars both ends are shown and how much is between them: what a command does may stand at its end.
// `event` is approval_needed, or pending_approval of a history.
std::vector<tui::Spans> approval_box(const json::Value& event, size_t columns, Shown shown = Shown::kShort);

}  // namespace chela::cli
