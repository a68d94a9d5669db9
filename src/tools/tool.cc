#include "tools/tool.h"

#include "base/check.h"

namespace chela::tools {

ToolResult ToolResult::text(std::string text) { return {.parts = {TextPart{std::move(text)}}}; }

ToolResult ToolResult::json(json::Value value) { return {.parts = {JsonPart{std::move(value)}}}; }

ToolResult ToolResult::error(std::string message) {
  return {.parts = {TextPart{std::move(message)}}, .is_error = true};
}

Task<Result<std::optional<std::string>>> Tool::question(Scope, json::Value) {
  co_return std::optional<std::string>();
}

json::Value parameters(std::string_view schema) {
  Result<json::Value> value = json::parse(schema);
  CHELA_CHECK(value.has_value(), schema);
  return std::move(*value);
}

}  // namespace chela::tools
