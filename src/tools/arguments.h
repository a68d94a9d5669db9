#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "tools/tool.h"

// The first stage of a tool call: from the text that a model wrote to arguments that fit the tool's schema.
namespace chela::tools {

// The object that the text holds; no text and null are {}. kInvalidArgument says where the JSON is broken.
Result<json::Value> parse_arguments(std::string_view text);

// Takes null out where it only means "not given", sets defaults, checks the schema and refuses NUL in strings. kUnprocessable
// names each fault: where, what was expected, what was given.
Result<> check_arguments(const ToolInfo& tool, json::Value& arguments);

}  // namespace chela::tools
