// Reads a tool message of the engine or of a client: what the tool gave, without the wrapping around it.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace chela::infer {

struct ToolResult {
  std::string text;          // without wrapping
  json::Value value;         // the text as JSON when it is an object or array, else null
  bool is_error = false;     // then `text` says what went wrong
  bool is_declined = false;  // an error because a person did not allow the call
};

// Takes off an enclosing tag (<tool_output ...> ... </tool_output>) and recognises errors: "Error: ...", a tag that says error, and
// outside a tag also what clients' tools write ({"error": ...}, "failed: ...").
ToolResult read_tool_result(std::string_view content);

}  // namespace chela::infer
