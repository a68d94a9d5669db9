#include "tools/builtin/core_tools.h"

#include "tools/basic_tool.h"
#include "tools/builtin/calculator.h"
#include "tools/builtin/json_query.h"

namespace chela::tools {
namespace {

class EchoTool final : public BasicTool {
 public:
  EchoTool()
      : BasicTool(
            {.name = "echo",
             .description = "Repeats a message back, unchanged.",
             .parameters = parameters(
                 R"({"type": "object", "required": ["message"], "additionalProperties": false, "properties": {
                     "message": {"type": "string", "description": "the text to repeat"}}})"),
             .idempotence = Idempotence::kRepeatable}) {}

  Task<Result<ToolResult>> call(ToolContext, json::Value arguments) override {
    co_return ToolResult::text(arguments.string_or("message"));
  }
};

class CalculatorTool final : public BasicTool {
 public:
  CalculatorTool()
      : BasicTool(
            {.name = "calculator",
             .description =
                 "Calculates an arithmetic expression, exactly where that is possible. Operators + - * / % "
                 "(remainder) ^ (power) ! and "
                 "parentheses; constants pi, e; functions sqrt abs round(x, digits) floor ceil min max mod "
                 "pow exp ln log(x, base = 10) "
                 "log10 log2 sin cos tan asin acos atan (radians) factorial. Percent: write 15/100*80.",
             .parameters = parameters(
                 R"({"type": "object", "required": ["expression"], "additionalProperties": false, "properties": {
                     "expression": {"type": "string", "description": "for example 17*23 or sqrt(2)^3 / 4"}}})"),
             .idempotence = Idempotence::kRepeatable}) {}

  Task<Result<ToolResult>> call(ToolContext, json::Value arguments) override {
    const Result<std::string> value = calculate(arguments.string_or("expression"));
    co_return value ? ToolResult::text(*value) : ToolResult::error(value.error().message);
  }
};

// Data that comes as JSON text is read as JSON; other text stays a string.
json::Value from_text(json::Value data) {
  if (const std::string* text = data.as_string()) {
    if (Result<json::Value> parsed = json::parse(*text)) return std::move(*parsed);
  }
  return data;
}

class JsonTool final : public BasicTool {
 public:
  JsonTool()
      : BasicTool(
            {.name = "json",
             .description = "Works on JSON. parse: reads JSON text and shows it indented. query: the value "
                            "at a path such as users[0].name. "
                            "stringify: one compact line. validate: whether the text is valid JSON and, if "
                            "not, where it is wrong.",
             .parameters = parameters(
                 R"({"type": "object", "required": ["operation", "data"], "additionalProperties": false, "properties": {
                     "operation": {"type": "string", "enum": ["parse", "query", "stringify", "validate"]},
                     "data": {"description": "JSON text, or the value itself"},
                     "path": {"type": "string", "description": "for query: keys joined by dots, [n] for the n-th element from 0"}}})"),
             .idempotence = Idempotence::kRepeatable}) {}

  Task<Result<ToolResult>> call(ToolContext, json::Value arguments) override {
    const std::string operation = arguments.string_or("operation");
    json::Value data = *arguments.find("data");
    if (operation == "validate") co_return validate(data);
    if (operation == "stringify") co_return ToolResult::text(json::write(from_text(std::move(data))));
    if (const std::string* text = data.as_string()) {
      Result<json::Value> parsed = json::parse(*text);
      if (!parsed) co_return ToolResult::error(parsed.error().message);
      data = std::move(*parsed);
    }
    if (operation == "parse") co_return ToolResult::json(std::move(data));
    if (arguments.find("path") == nullptr)
      co_return ToolResult::error("query needs a path, for example users[0].name");
    const Result<json::Value> found = query(data, arguments.string_or("path"));
    co_return found ? ToolResult::json(*found) : ToolResult::error(found.error().message);
  }

 private:
  static ToolResult validate(const json::Value& data) {
    const std::string* text = data.as_string();
    if (text == nullptr) return ToolResult::json(json::Value::object({{"valid", true}}));
    const Result<json::Value> parsed = json::parse(*text);
    if (parsed) return ToolResult::json(json::Value::object({{"valid", true}}));
    return ToolResult::json(json::Value::object({{"valid", false}, {"error", parsed.error().message}}));
  }
};

}  // namespace

std::unique_ptr<Tool> make_echo_tool() { return std::make_unique<EchoTool>(); }
std::unique_ptr<Tool> make_calculator_tool() { return std::make_unique<CalculatorTool>(); }
std::unique_ptr<Tool> make_json_tool() { return std::make_unique<JsonTool>(); }

}  // namespace chela::tools
