#pragma once

#include <optional>
#include <vector>

#include "agent/dialects/tool_set.h"

namespace chela::agent::dialects {

// How a format writes a call as JSON.
enum class JsonStyle {
  kTagged,  // between marks that only calls have: the arguments may be missing
  kBare,    // a whole answer without marks: a known tool and arguments, or OpenAI's `tool_calls`
  kCohere,  // `tool_name` and `parameters`
  kStrict,  // `name` and `arguments`, an object; nothing else
};

// The calls that a value holds: a message, a response body, a list or a call. Calls of unknown tools and declarations of tools are
// none.
std::vector<Call> calls_from_json(const json::Value& value, const ToolSet& tools, JsonStyle style);

// Arguments as they were written: text is unpacked, what is no JSON is {}. Nothing when the text is a JSON that was cut.
std::optional<json::Value> unpack_arguments(const json::Value& written);

}  // namespace chela::agent::dialects
