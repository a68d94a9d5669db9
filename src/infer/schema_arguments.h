// Fills the arguments of tools that nobody wrote rules for: from the words of the request under the tool's JSON Schema, first by
// plain signs (quotes, numbers, paths, links, enum values, "in Paris"), then by a model that may only copy words.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infer/arguments.h"
#include "infer/tool_spec.h"

namespace chela::infer {

// Chooses the words for these string parameters; a JSON object, or nothing when no model is there. Values that are not in the request
// are not taken.
using SpanChooser = std::function<Result<std::optional<json::Value>>(
    const ToolSpec& tool, std::string_view request, const std::vector<std::string>& keys)>;

// Arguments that fit the schema as far as it is understood here (type, enum, required), or a question for what is missing.
Result<Filled> fill_by_schema(const ToolSpec& tool, const Request& request, const SpanChooser& choose);

// The messages that make a small model choose the words.
struct Extraction {
  std::string system;
  std::vector<std::pair<std::string, std::string>> examples;  // request, answer
};
Extraction extraction_for(const ToolSpec& tool);

}  // namespace chela::infer
